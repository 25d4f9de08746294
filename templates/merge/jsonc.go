package merge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// JSONC merges files of JSON with comments as trees. A nil text is a file that
// is not there. With conflicts the merged text is mine, unless prefer decides
// them. The error says which version is not well formed.
func JSONC(base, template, mine []byte, prefer Side) (merged []byte, conflicts []Conflict, err error) {
	if merged, conflicts, done := whole(base, template, mine, prefer); done {
		return merged, conflicts, nil
	}
	var docs [3]*jsonc.Document
	for i, v := range []struct {
		name string
		text []byte
	}{{"what the template wrote", base}, {"what the template writes now", template}, {"the file", mine}} {
		doc, findings := jsonc.Parse("", v.text)
		if doc == nil {
			return nil, nil, fmt.Errorf("%s is not well formed: line %d: %s", v.name, findings[0].Line, findings[0].Message)
		}
		docs[i] = doc
	}
	m := &merger{base: docs[0], template: docs[1], mine: docs[2], prefer: prefer}
	m.values(nil, docs[0].Root, docs[1].Root, docs[2].Root)
	if len(m.conflicts) > 0 {
		return mine, m.conflicts, nil
	}
	merged = mine
	for _, c := range m.changes {
		doc, _ := jsonc.Parse("", merged)
		if doc == nil {
			return nil, nil, fmt.Errorf("merging %s broke the file", c.place())
		}
		merged, _ = jsonc.Apply(merged, c.edit(doc))
	}
	return merged, nil, nil
}

// merger finds what the template changed, and what of it can be made in mine.
type merger struct {
	base, template, mine *jsonc.Document
	prefer               Side
	changes              []change
	conflicts            []Conflict
}

// step leads from a value to one inside: a member's name, or the key of an
// element of a set.
type step struct {
	name string
	keys keyer // nil for a member
}

// change is one edit of mine: the value at path becomes text, is added as text,
// or is removed.
type change struct {
	path []step
	text string // JSON, with the comments above it when it is added; "" removes
	add  bool
}

func (c change) place() string { return pointer(c.path) }

func pointer(path []step) string {
	at := ""
	for _, s := range path {
		at = jsonc.Child(at, s.name)
	}
	return at
}

// edit makes the change in a document that holds the changes before it.
func (c change) edit(doc *jsonc.Document) []jsonc.Edit {
	last := c.path[len(c.path)-1]
	holder := doc.Root
	for _, s := range c.path[:len(c.path)-1] {
		_, holder = s.find(holder)
	}
	i, n := last.find(holder)
	switch {
	case c.add:
		return doc.AddText(holder, c.text)
	case c.text != "":
		return jsonc.Replace(n, strings.ReplaceAll(c.text, "\n", doc.NewLine()))
	case last.keys != nil:
		return doc.RemoveElement(holder, i)
	}
	return doc.RemoveMember(holder, i)
}

// find returns the place and value that the step leads to; -1 and nil when
// there is none.
func (s step) find(n *jsonc.Node) (int, *jsonc.Node) {
	if n == nil {
		return -1, nil
	}
	if s.keys != nil {
		keys, _ := s.keys(n)
		if i := slices.Index(keys, s.name); i >= 0 {
			return i, n.Elements[i]
		}
		return -1, nil
	}
	i := slices.IndexFunc(n.Members, func(m jsonc.Member) bool { return m.Name == s.name })
	if i < 0 {
		return -1, nil
	}
	return i, n.Members[i].Value
}

// values merges one value; any of the three may be missing.
func (m *merger) values(path []step, base, template, mine *jsonc.Node) {
	if equal(base, template) || equal(template, mine) {
		return
	}
	if haveKind(jsonc.Object, base, template, mine) && unique(base) && unique(template) && unique(mine) {
		m.objects(path, base, template, mine)
		return
	}
	if haveKind(jsonc.Array, base, template, mine) {
		if keys := keyerOf(pointer(path)); keys != nil && areSets(keys, base, template, mine) {
			m.sets(path, keys, base, template, mine)
			return
		}
	}
	untouched := equal(base, mine) && !m.hasOwnComments(base, mine)
	if len(path) > 0 && (untouched || m.prefer == Template) {
		m.take(path, template, mine)
		return
	}
	if m.prefer == Neither || len(path) == 0 {
		m.conflicts = append(m.conflicts, Conflict{pointer(path), text(m.base, base), text(m.template, template), text(m.mine, mine)})
	}
}

// take puts the template's value into mine.
func (m *merger) take(path []step, template, mine *jsonc.Node) {
	c := change{path: path}
	switch {
	case template == nil:
	case mine == nil:
		c.add, c.text = true, m.withComments(path, template)
	default:
		c.text = strings.ReplaceAll(m.template.Outdented(template), "\n", "\n"+m.mine.IndentOf(mine.Start))
	}
	m.changes = append(m.changes, c)
}

func (m *merger) objects(path []step, base, template, mine *jsonc.Node) {
	var names []string
	for _, n := range []*jsonc.Node{base, template} {
		if n == nil {
			continue
		}
		for _, member := range n.Members {
			if !slices.Contains(names, member.Name) {
				names = append(names, member.Name)
			}
		}
	}
	for _, name := range names {
		m.values(append(slices.Clone(path), step{name: name}), base.Member(name), template.Member(name), mine.Member(name))
	}
}

func (m *merger) sets(path []step, keys keyer, base, template, mine *jsonc.Node) {
	var names []string
	for _, n := range []*jsonc.Node{base, template} {
		k, _ := keys(n)
		for _, name := range k {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		s := step{name, keys}
		_, b := s.find(base)
		_, t := s.find(template)
		_, mn := s.find(mine)
		m.values(append(slices.Clone(path), s), b, t, mn)
	}
}

// haveKind reports whether the three values are of a kind; base may be missing.
func haveKind(kind jsonc.Kind, base, template, mine *jsonc.Node) bool {
	is := func(n *jsonc.Node) bool { return n != nil && n.Kind == kind }
	return (base == nil || is(base)) && is(template) && is(mine)
}

func areSets(keys keyer, nodes ...*jsonc.Node) bool {
	return !slices.ContainsFunc(nodes, func(n *jsonc.Node) bool { _, ok := keys(n); return !ok })
}

// unique reports whether every name of an object stands once.
func unique(n *jsonc.Node) bool {
	if n == nil {
		return true
	}
	seen := map[string]bool{}
	for _, m := range n.Members {
		if seen[m.Name] {
			return false
		}
		seen[m.Name] = true
	}
	return true
}

// hasOwnComments reports whether the value holds a comment that is not the
// template's: replacing or removing the value would lose it.
func (m *merger) hasOwnComments(base, mine *jsonc.Node) bool {
	if base == nil || mine == nil {
		return false
	}
	theirs := commentsIn(m.base, base)
	return slices.ContainsFunc(commentsIn(m.mine, mine), func(c string) bool { return !slices.Contains(theirs, c) })
}

// commentsIn returns the text of the comments inside a value.
func commentsIn(doc *jsonc.Document, n *jsonc.Node) []string {
	var out []string
	for _, c := range doc.Comments() {
		if c.Start >= n.Start && c.End <= n.End {
			out = append(out, string(doc.Src[c.Start:c.End]))
		}
	}
	return out
}

// text returns the source of a value, or "".
func text(doc *jsonc.Document, n *jsonc.Node) string {
	if n == nil {
		return ""
	}
	return string(doc.Src[n.Start:n.End])
}

// withComments returns what is added for a value of the template: its name, if
// it is a member, and the comments that stand on lines of their own above it.
func (m *merger) withComments(path []step, n *jsonc.Node) string {
	start, last := n.Start, path[len(path)-1]
	holder := m.template.Root
	for _, s := range path[:len(path)-1] {
		_, holder = s.find(holder)
	}
	prefix := ""
	if last.keys == nil {
		i, _ := last.find(holder)
		start, prefix = holder.Members[i].NameStart, jsonc.Quote(last.name)+": "
	}
	var above strings.Builder
	for _, comment := range m.template.CommentsAbove(start) {
		above.WriteString(comment + "\n")
	}
	return above.String() + prefix + m.template.Outdented(n)
}
