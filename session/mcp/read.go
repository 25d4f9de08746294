package mcp

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/settings"
)

// Bounds of a file.
const (
	MaxSize    = 256 << 10 // bytes
	maxServers = 100
)

// mistake is something wrong in a list, at a line and a column that count from 1; 0 = in
// the list as a whole.
type mistake struct {
	line, column int
	err          error
}

func (m mistake) Error() string { return m.err.Error() }
func (m mistake) Unwrap() error { return m.err }

// mistakeAt is a mistake at n.
func mistakeAt(n *yaml.Node, format string, args ...any) error {
	return mistake{n.Line, n.Column, fmt.Errorf(format, args...)}
}

// Read reads JSON or YAML: a list of servers or an object of them by name, alone or under
// one of the keys mcpServers, mcp_servers and servers. An error begins with file, and with
// the line and the column of what is wrong; it shows no value.
func Read(file string, text []byte) ([]settings.MCPServer, error) {
	list, err := read(text)
	if m := (mistake{}); errors.As(err, &m) {
		return nil, fmt.Errorf("%s:%d:%d: %w", file, m.line, m.column, err)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return list, nil
}

func read(text []byte) ([]settings.MCPServer, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("it is larger than %d KiB", MaxSize>>10)
	}
	var root yaml.Node
	in := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	if err := in.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it is empty")
		}
		wrong := errors.New("it is neither JSON nor YAML")
		if at := (*yaml.LoadError)(nil); errors.As(err, &at) && at.Mark.Line > 0 { // its words may show a value
			return nil, mistake{at.Mark.Line, max(1, at.Mark.Column), fmt.Errorf("%w from here on", wrong)}
		}
		return nil, wrong
	}
	if err := in.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it holds more than one document")
	}
	if hasAlias(&root) { // a few lines of them may stand for gigabytes
		return nil, errors.New("it holds an alias (*name): write out what it stands for")
	}
	list, err := servers(root.Content[0])
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New(`it names no server: they stand by name in "mcpServers"`)
	}
	if len(list) > maxServers {
		return nil, fmt.Errorf("it names %d servers, and %d are possible", len(list), maxServers)
	}
	var out []settings.MCPServer
	var bad []error
	for i, s := range list {
		name := cmp.Or(s.Name, fmt.Sprintf("number %d", i+1))
		if why := wrong(s); why != "" {
			bad = append(bad, fmt.Errorf("the server %q %s", name, why))
		}
		if slices.ContainsFunc(out, func(o settings.MCPServer) bool { return o.Name == s.Name }) {
			bad = append(bad, fmt.Errorf("the server %q is there twice", name))
		}
		out = append(out, s)
	}
	if err := errors.Join(bad...); err != nil {
		return nil, err
	}
	return out, nil
}

func wrong(s settings.MCPServer) string {
	switch {
	case !settings.IsMCPName(s.Name):
		return "needs a name of letters, digits, _ and -"
	case s.Command == "" && s.URL == "":
		return "has neither command nor url"
	case s.Command != "" && s.URL != "":
		return "has both command and url"
	case s.Command != "" && s.Type != "" && s.Type != "stdio", s.URL != "" && s.Type != "http" && s.Type != "sse":
		return "has a type that does not fit: stdio with command, http or sse with url"
	}
	return ""
}

// servers finds the list of servers.
func servers(n *yaml.Node) ([]settings.MCPServer, error) {
	if n.Kind == yaml.MappingNode {
		for _, key := range []string{"mcpServers", "mcp_servers", "servers"} {
			if under := member(n, key); under != nil {
				n = under
				break
			}
		}
	}
	switch n.Kind {
	case yaml.SequenceNode:
		var list []settings.MCPServer
		for i, e := range n.Content {
			var s settings.MCPServer
			if err := strict(e, &s); err != nil {
				return nil, inServer(fmt.Sprintf("server number %d", i+1), err)
			}
			list = append(list, s)
		}
		return list, nil
	case yaml.MappingNode:
		byName := map[string]settings.MCPServer{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			var s settings.MCPServer
			if err := strict(n.Content[i+1], &s); err != nil {
				return nil, inServer(fmt.Sprintf("the server %q", name), err)
			}
			if _, twice := byName[name]; twice || s.Name != "" && s.Name != name {
				return nil, mistakeAt(n.Content[i], "the server %q has two names or is there twice", name)
			}
			s.Name = name
			byName[name] = s
		}
		var list []settings.MCPServer
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			list = append(list, byName[name])
		}
		return list, nil
	}
	return nil, mistakeAt(n, "it is no list of servers")
}

// inServer is a mistake with the server that it is in.
func inServer(server string, err error) error {
	m := mistake{}
	errors.As(err, &m)
	m.err = fmt.Errorf("%s: %w", server, err)
	return m
}

// strict decodes a server, whose keys are its fields in small letters, and refuses other keys: to drop one in silence
// would start another server than the one that was meant.
func strict(n *yaml.Node, s *settings.MCPServer) error {
	if n.Kind != yaml.MappingNode {
		return mistakeAt(n, "it is no object")
	}
	known := []string{"name", "type", "command", "args", "env", "url", "headers", "description"}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i].Value; !slices.Contains(known, key) {
			hint := "accepted: " + strings.Join(known, ", ")
			if best := diag.Suggest(key, known); best != "" {
				hint = fmt.Sprintf("did you mean %q?", best)
			}
			hint = cmp.Or(settings.MCPKeyHint(key), hint)
			return diag.WithHint(mistakeAt(n.Content[i], "%q is not known", key), "%s", hint)
		}
	}
	if n.Decode(s) != nil { // the error would show a value
		return mistakeAt(n, "a key has a value of another kind: args is a list of texts, env and headers are objects of texts")
	}
	return nil
}

func member(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func hasAlias(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAlias)
}
