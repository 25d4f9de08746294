package compose

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// moved returns a service whose relative paths start in the folder from, as one
// whose paths start in the folder to: what extends and include bring along is
// relative to their own file.
func (l *loader) moved(n *Node, from, to string) *Node {
	rel, err := filepath.Rel(filepath.FromSlash(to), filepath.FromSlash(from))
	if n == nil || n.Kind != Map || err != nil || rel == "." {
		return n
	}
	m := mover(filepath.ToSlash(rel))
	out := *n
	out.Members, out.index = slices.Clone(n.Members), nil
	for i, member := range out.Members {
		v := member.Value
		switch member.Name {
		case "build":
			if v.Kind == Map {
				v = m.members(v, "context", m.always)
			} else {
				v = m.scalar(v, m.always)
			}
		case "env_file":
			v = m.each(v, func(item *Node) *Node {
				if item.Kind == Map {
					return m.members(item, "path", m.always)
				}
				return m.scalar(item, m.always)
			})
		case "volumes":
			v = m.each(v, func(item *Node) *Node {
				if item.Kind == Map {
					return m.members(item, "source", m.dotted)
				}
				return m.scalar(item, m.dotted)
			})
		}
		out.Members[i].Value = v
	}
	return &out
}

// mover is the way from one folder to another.
type mover string

// always puts the way before every relative path.
func (m mover) always(p string) string {
	if p == "" || path.IsAbs(p) || strings.Contains(p, "://") || strings.ContainsAny(p[:1], "$~") || strings.HasPrefix(p, "git@") {
		return p
	}
	return path.Join(string(m), p)
}

// dotted puts it before those that start with a dot; other sources of volumes
// are names.
func (m mover) dotted(p string) string {
	source, rest, _ := strings.Cut(p, ":")
	if !strings.HasPrefix(source, ".") {
		return p
	}
	if source = path.Join(string(m), source); !strings.HasPrefix(source, ".") {
		source = "./" + source
	}
	if rest == "" {
		return source
	}
	return source + ":" + rest
}

func (m mover) scalar(n *Node, change func(string) string) *Node {
	if n.Kind != Scalar || n.Null {
		return n
	}
	out := *n
	out.Text = change(n.Text)
	return &out
}

// members changes one member of a map.
func (m mover) members(n *Node, name string, change func(string) string) *Node {
	out := *n
	out.Members, out.index = slices.Clone(n.Members), nil
	for i := range out.Members {
		if out.Members[i].Name == name {
			out.Members[i].Value = m.scalar(out.Members[i].Value, change)
		}
	}
	return &out
}

func (m mover) each(n *Node, change func(*Node) *Node) *Node {
	if n.Kind != List {
		return change(n)
	}
	out := *n
	out.Items = make([]*Node, len(n.Items))
	for i, item := range n.Items {
		out.Items[i] = change(item)
	}
	return &out
}

// EnvFile reads the lines of an env_file or of .env: NAME=value, or NAME alone
// for a variable of the host. A value may be in quotes.
func EnvFile(doc *jsonc.Document) []Variable {
	var out []Variable
	at := 0
	for line := range strings.Lines(string(doc.Src)) {
		start := at
		at += len(line)
		text := strings.TrimPrefix(strings.TrimSpace(line), "export ")
		start += strings.Index(line, text)
		if text == "" || text[0] == '#' {
			continue
		}
		name, value, set := strings.Cut(text, "=")
		value = strings.TrimSpace(value)
		if len(value) > 1 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
			value = value[1 : len(value)-1]
		}
		name = strings.TrimSpace(name)
		out = append(out, Variable{name, value, set, &Node{Doc: doc, Start: start, End: start + len(text), Text: value, Null: !set}})
	}
	return out
}
