package compose

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// moved returns a service whose relative paths start in the folder from, as one
// whose paths start in the folder to: what extends and include bring along is
// relative to their own file.
func moved(n *Node, from, to string) *Node { return move(n, from, to, mover.service) }

// movedProject does it for a whole file, of the resources, too.
func movedProject(n *Node, from, to string) *Node {
	return move(n, from, to, func(m mover, n *Node) *Node {
		n = m.change(n, "services/*", m.service)
		n = m.change(n, "configs/*/file", m.path)
		n = m.change(n, "secrets/*/file", m.path)
		return m.change(n, "volumes/*/driver_opts/device", m.dotted)
	})
}

func move(n *Node, from, to string, change func(mover, *Node) *Node) *Node {
	rel, err := filepath.Rel(filepath.FromSlash(to), filepath.FromSlash(from))
	if n != nil && path.IsAbs(from) && !path.IsAbs(to) {
		return change(mover(from), n)
	}
	if n == nil || err != nil || rel == "." {
		return n
	}
	return change(mover(filepath.ToSlash(rel)), n)
}

// mover is the way from one folder to another.
type mover string

func (m mover) service(n *Node) *Node {
	for _, place := range []string{"build", "build/context", "build/additional_contexts/*", "env_file", "env_file/*", "env_file/*/path",
		"label_file", "label_file/*"} {
		n = m.change(n, place, m.path)
	}
	return m.change(n, "volumes/*", m.volume)
}

// change calls f for the values at a place: names of members, and "*" for all
// members or items. n stays as it is; the result may share parts with it.
func (m mover) change(n *Node, place string, f func(*Node) *Node) *Node {
	if n == nil {
		return nil
	}
	if place == "" {
		return f(n)
	}
	step, rest, _ := strings.Cut(place, "/")
	out := *n
	out.Members, out.Items, out.index = slices.Clone(n.Members), slices.Clone(n.Items), nil
	for i := range out.Members {
		if member := &out.Members[i]; step == "*" || step == member.Name {
			member.Value = m.change(member.Value, rest, f)
		}
	}
	for i := range out.Items {
		if step == "*" {
			out.Items[i] = m.change(out.Items[i], rest, f)
		}
	}
	return &out
}

// volume moves a bind mount; other sources of volumes are names.
func (m mover) volume(n *Node) *Node {
	if n.Get("type").String() == "bind" {
		return m.change(n, "source", m.path)
	}
	return m.dotted(n)
}

// path puts the way before a relative path.
func (m mover) path(n *Node) *Node {
	p := n.String()
	if p == "" || path.IsAbs(p) || strings.ContainsAny(p[:1], "$~") || isRemote(p) {
		return n
	}
	out := *n
	out.Text = path.Join(string(m), p)
	return &out
}

// isRemote reports whether the context of a build is none of this host's files.
func isRemote(p string) bool {
	return strings.Contains(p, "://") || slices.ContainsFunc([]string{"git@", "github.com/", "service:"}, func(prefix string) bool {
		return strings.HasPrefix(p, prefix)
	})
}

// dotted puts the way before the source of a volume that starts with a dot.
func (m mover) dotted(n *Node) *Node {
	source, rest, _ := strings.Cut(n.String(), ":")
	if !strings.HasPrefix(source, ".") {
		return n
	}
	if source = path.Join(string(m), source); !strings.HasPrefix(source, ".") && !path.IsAbs(source) {
		source = "./" + source
	}
	out := *n
	out.Text = source
	if rest != "" {
		out.Text += ":" + rest
	}
	return &out
}
