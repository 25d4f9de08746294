package instructions

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// plainMembers of a front matter name, describe or narrow. All others may act, such
// as hooks, allowed-tools, mcpServers, permissionMode and model, and those to come.
var plainMembers = []string{
	"name", "description", "when_to_use", "argument-hint", "arguments", "color", "keep-coding-instructions",
	"tools", "disallowedTools", "disable-model-invocation", "user-invocable",
}

// maxFrontMatter bounds a front matter, in bytes.
const maxFrontMatter = 64 << 10

var errFrontMatter = errors.New("its front matter cannot be read")

// textOnly returns a text with the plain members of its front matter alone. It errs
// when it cannot tell where that ends, or what is in it.
func textOnly(text []byte) ([]byte, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	if string(bytes.TrimSpace(first)) != "---" {
		// Other readers may take it for one: to JavaScript a byte order mark is a blank, and
		// one of UTF-16, which is no UTF-8, names another encoding.
		blank := func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }
		if !utf8.Valid(text) || bytes.HasPrefix(bytes.TrimLeftFunc(text, blank), []byte("---")) {
			return nil, errFrontMatter
		}
		return text, nil
	}
	var matter []byte
	for {
		line, after, more := bytes.Cut(rest, []byte("\n"))
		if string(bytes.TrimSpace(line)) == "---" {
			rest = after
			break
		}
		if matter = append(append(matter, line...), '\n'); !more || len(matter) > maxFrontMatter {
			return nil, errFrontMatter
		}
		rest = after
	}
	var document yaml.Node
	if err := yaml.Unmarshal(matter, &document); err != nil {
		return nil, errFrontMatter
	}
	out := []byte("---\n")
	if len(document.Content) == 1 {
		members := document.Content[0]
		if members.Kind != yaml.MappingNode {
			return nil, errFrontMatter
		}
		for i := 0; i+1 < len(members.Content); i += 2 {
			name, value := members.Content[i].Value, plain(members.Content[i+1])
			if !slices.Contains(plainMembers, name) || value == nil {
				continue
			}
			written, err := json.Marshal(value) // which is YAML, too
			if err != nil {
				return nil, errFrontMatter
			}
			out = append(append(append(out, name+": "...), written...), '\n')
		}
	}
	return append(append(out, "---\n"...), rest...), nil
}

// plain is a text, a switch or a list of texts; nil for everything else.
func plain(n *yaml.Node) any {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!bool":
		return n.Value == "true"
	case n.Kind == yaml.ScalarNode:
		return n.Value
	case n.Kind == yaml.SequenceNode:
		list := []string{}
		for _, e := range n.Content {
			if e.Kind != yaml.ScalarNode {
				return nil
			}
			list = append(list, e.Value)
		}
		return list
	}
	return nil
}
