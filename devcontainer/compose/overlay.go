package compose

import (
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/budget"
)

// overlay merges two values; nothing more when the budget is spent.
func (l *loader) overlay(below, above *Node, at string) *Node {
	return (&merger{l.project.work}).overlay(below, above, at)
}

type merger struct{ work *budget.Budget }

// overlay merges two values as Compose merges its files: maps by name, lists
// one after the other, scalars by replacing. at is the place in the file that
// decides about the exceptions.
func (m *merger) overlay(below, above *Node, at string) *Node {
	key := keyOf(at)
	switch {
	case below == nil || below.tag == "!reset":
		return above
	case above == nil:
		return below
	case above.tag == "!override" || above.tag == "!reset":
		return above
	case replaced[key] || path.Dir(key) == "ulimits" || paired[path.Dir(key)]:
		return above
	case above.Null:
		return below
	case key == "logging" && !sameDriver(below, above):
		return above
	}
	below, above = longForm(key, below), longForm(key, above)
	switch {
	case below.Kind != above.Kind || !m.work.Spend(perNode*(1+len(below.Members)+len(below.Items)+len(above.Members)+len(above.Items))):
		return above
	case above.Kind == Map:
		out := &Node{Kind: Map, Doc: above.Doc, Start: above.Start, End: above.End, Members: slices.Clone(below.Members)}
		for _, member := range above.Members {
			member.Value = m.overlay(below.Get(member.Name), member.Value, at+"/"+member.Name)
			out.put(member)
		}
		return out
	case above.Kind == List:
		out := &Node{Kind: List, Doc: above.Doc, Start: above.Start, End: above.End}
		out.Items = distinct(key, slices.Concat(below.Items, above.Items))
		return out
	}
	return above
}

// keyOf is a place below a service or a resource, such as "build/args".
func keyOf(at string) string {
	parts := strings.SplitN(at, "/", 4) // "", "services", its name, the rest
	if len(parts) < 4 {
		return ""
	}
	return parts[3]
}

// The keys whose values have forms of their own when files are merged.
var (
	replaced = setOf("command entrypoint healthcheck/test") // by the later file's
	// NAME=value or a map; a name alone is a value, too.
	paired = setOf("environment labels annotations sysctls build/args build/labels build/additional_contexts deploy/labels")
	named  = setOf("depends_on networks models")                       // names, or a map by name
	listed = setOf("dns dns_opt dns_search env_file label_file tmpfs") // a text, or a list of them
)

func setOf(words string) map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		out[word] = true
	}
	return out
}

// longForm turns the short forms of a key's value into the long one.
func longForm(key string, n *Node) *Node {
	switch {
	case paired[key]:
		return pairs(n)
	case named[key] && n.Kind == List:
		out := &Node{Kind: Map, Doc: n.Doc, Start: n.Start, End: n.End}
		for _, item := range n.Items {
			value := &Node{Doc: item.Doc, Start: item.Start, End: item.End, Null: true}
			if key == "depends_on" { // a name alone waits for the start
				started := &Node{Doc: item.Doc, Start: item.Start, End: item.End, Text: "service_started"}
				value = &Node{Kind: Map, Doc: item.Doc, Start: item.Start, End: item.End}
				value.put(Member{"condition", item.Start, item.End, started})
			}
			out.put(Member{item.Text, item.Start, item.End, value})
		}
		return out
	case listed[key] && n.Kind == Scalar:
		return &Node{Kind: List, Doc: n.Doc, Start: n.Start, End: n.End, Items: []*Node{n}}
	case key == "build" && n.Kind == Scalar:
		out := &Node{Kind: Map, Doc: n.Doc, Start: n.Start, End: n.End}
		out.put(Member{"context", n.Start, n.End, n})
		return out
	case path.Base(key) == "extra_hosts" && n.Kind == Map:
		out := &Node{Kind: List, Doc: n.Doc, Start: n.Start, End: n.End}
		for _, host := range n.Members {
			for _, address := range host.Value.Scalars() { // a host may have several
				item := *address
				item.Text = host.Name + "=" + address.Text
				out.Items = append(out.Items, &item)
			}
		}
		return out
	}
	return n
}

// pairs turns a list of NAME=value into a map.
func pairs(n *Node) *Node {
	if n.Kind != List {
		return n
	}
	out := &Node{Kind: Map, Doc: n.Doc, Start: n.Start, End: n.End}
	for _, item := range n.Items {
		name, value, ok := strings.Cut(item.Text, "=")
		v := *item
		v.Text, v.Null = value, !ok
		out.put(Member{name, item.Start, item.End, &v})
	}
	return out
}

// sameDriver reports whether two maps are about one driver.
func sameDriver(below, above *Node) bool {
	a, b := below.Get("driver").String(), above.Get("driver").String()
	return a == b || a == "" || b == ""
}

// finished is a merged value without what was reset, each list without doubles.
// It shares all parts that stay as they are.
func finished(n *Node, at string) *Node {
	if n.Kind == Scalar {
		return n
	}
	out := *n
	changed := false
	keep := func(v *Node, at string) *Node {
		if v.tag == "!reset" {
			changed = true
			return nil
		}
		done := finished(v, at)
		changed = changed || done != v
		return done
	}
	out.Members, out.Items, out.index = nil, nil, nil
	for _, m := range n.Members {
		if m.Value = keep(m.Value, at+"/"+m.Name); m.Value != nil {
			out.Members = append(out.Members, m)
		}
	}
	for _, item := range distinct(keyOf(at), n.Items) {
		if item = keep(item, at+"/-"); item != nil {
			out.Items = append(out.Items, item)
		}
	}
	if !changed && len(out.Items) == len(n.Items) {
		return n
	}
	return &out
}

// distinct keeps of the elements of a list that Compose takes for the same the
// last, in the place of the first.
func distinct(key string, items []*Node) []*Node {
	places := map[string]int{}
	var out []*Node
	for _, n := range items {
		name := identity(key, n)
		if i, ok := places[name]; ok && name != "" {
			out[i] = n
			continue
		}
		places[name] = len(out)
		out = append(out, n)
	}
	return out
}

// identity names an element of a list; "" = it is another one than all others.
func identity(key string, n *Node) string {
	target := n.Get("target").String()
	switch {
	case key == "volumes" && n.Kind == Scalar:
		if parts := SplitVolume(n.Text); len(parts) > 1 {
			return path.Clean(parts[1])
		}
		return path.Clean(n.Text)
	case key == "devices" && n.Kind == Scalar:
		if _, rest, ok := strings.Cut(n.Text, ":"); ok {
			target, _, _ = strings.Cut(rest, ":")
			return target
		}
	case (key == "configs" || key == "secrets") && target == "":
		name := n.Text
		if n.Kind == Map {
			name = n.Get("source").String()
		}
		return "default path of " + name
	case key == "env_file" && n.Kind == Map:
		return n.Get("path").String()
	case n.Kind == Map && key != "ports":
		return target
	}
	if n.Kind != Scalar || n.Null {
		return ""
	}
	return n.Text
}

// SplitVolume takes the short form of a volume apart at its colons, but not at
// those of variables and drives: "c:/x:/y" names a drive, "c:/x" a volume c.
func SplitVolume(s string) []string {
	var parts []string
	start, open := 0, 0
	for i := range len(s) {
		switch {
		case strings.HasPrefix(s[i:], "${"):
			open++
		case s[i] == '}' && open > 0:
			open--
		case s[i] == ':' && open == 0 && !(i == 1 && isDrive(s)):
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

// isDrive reports whether a volume's source starts with a drive of Windows.
func isDrive(s string) bool {
	return isName(s[0], true) && len(s) > 2 && (s[2] == '\\' || s[2] == '/') && strings.Contains(s[2:], ":")
}
