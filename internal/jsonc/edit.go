package jsonc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Edit replaces the bytes from Start to End of a document's source by Text.
type Edit struct {
	Start, End int
	Text       string
}

// Apply returns src with the edits made, which may come in any order. If two
// groups touch the same bytes, only the first is made, whole or not at all, so
// that no half of a change is left; applied says which groups were.
func Apply(src []byte, groups ...[]Edit) (out []byte, applied []bool) {
	applied = make([]bool, len(groups))
	var all []Edit // sorted, and none touches another
	for i, group := range groups {
		done, ok := 0, len(group) > 0
		for ok && done < len(group) {
			if all, ok = insert(all, group[done], len(src)); ok {
				done++
			}
		}
		applied[i] = ok
		for _, e := range group[:done] {
			if !ok { // a half of a change is none
				at := search(all, e.Start)
				all = slices.Delete(all, at, at+1)
			}
		}
	}
	at := 0
	for _, e := range all {
		out = append(out, src[at:e.Start]...)
		out = append(out, e.Text...)
		at = e.End
	}
	return append(out, src[at:]...), applied
}

// search returns the place of the first edit that starts at offset or later.
func search(all []Edit, offset int) int {
	at, _ := slices.BinarySearchFunc(all, offset, func(e Edit, offset int) int { return cmp.Compare(e.Start, offset) })
	return at
}

// insert puts an edit among the others unless it touches one. Two edits at the
// same point collide too: their order would be a matter of luck.
func insert(all []Edit, e Edit, size int) ([]Edit, bool) {
	if e.Start < 0 || e.End < e.Start || e.End > size {
		return all, false
	}
	at := search(all, e.Start)
	if at > 0 {
		if before := all[at-1]; before.End > e.Start || before.End == e.Start && e.Start == e.End {
			return all, false
		}
	}
	if at < len(all) {
		if after := all[at]; after.Start < e.End || after.Start == e.Start || after.Start == e.End && after.Start == after.End {
			return all, false
		}
	}
	return slices.Insert(all, at, e), true
}

// Replace writes text in the place of a value.
func Replace(n *Node, text string) []Edit { return []Edit{{n.Start, n.End, text}} }

// Rename gives a member another name.
func Rename(m Member, name string) []Edit {
	return []Edit{{m.NameStart, m.NameEnd, Quote(name)}}
}

// RemoveMember takes the i-th member out of an object. Comments stay where
// they are; a line that held nothing else goes.
func (d *Document) RemoveMember(obj *Node, i int) []Edit {
	var starts, ends []int
	for _, m := range obj.Members {
		starts, ends = append(starts, m.NameStart), append(ends, m.Value.End)
	}
	return d.remove(obj, starts, ends, i)
}

// RemoveElement takes the i-th element out of an array, like RemoveMember.
func (d *Document) RemoveElement(arr *Node, i int) []Edit {
	var starts, ends []int
	for _, e := range arr.Elements {
		starts, ends = append(starts, e.Start), append(ends, e.End)
	}
	return d.remove(arr, starts, ends, i)
}

func (d *Document) remove(holder *Node, starts, ends []int, i int) []Edit {
	start, end := starts[i], ends[i]
	limit := holder.End - 1
	if i+1 < len(starts) {
		limit = starts[i+1]
	}
	var edits []Edit
	if comma := d.comma(end, limit); comma >= 0 {
		if len(bytes.TrimSpace(d.Src[end:comma])) == 0 {
			end = comma + 1
		} else {
			edits = append(edits, d.without(comma, comma+1, false))
		}
	} else if i > 0 {
		// The last one: the comma in front of it would be left over.
		comma := d.comma(ends[i-1], start)
		if between := d.Src[comma+1 : start]; len(bytes.Trim(between, " \t")) == 0 {
			start = comma
		} else {
			edits = append(edits, d.without(comma, comma+1, false))
		}
	}
	return append(edits, d.without(start, end, i+1 < len(starts)))
}

// without takes bytes out with the blanks that nothing needs then, and with the line that holds
// nothing else. Blanks in front of what is next to them on the line go with them.
func (d *Document) without(start, end int, next bool) Edit {
	isBlank := func(c byte) bool { return c == ' ' || c == '\t' }
	from, to := start, end
	for from > 0 && isBlank(d.Src[from-1]) {
		from--
	}
	for to < len(d.Src) && isBlank(d.Src[to]) {
		to++
	}
	first := from > 0 && d.Src[from-1] == '\n'
	rest := bytes.TrimPrefix(d.Src[to:], []byte("\r"))
	switch last := bytes.HasPrefix(rest, []byte("\n")); {
	case first && last:
		return Edit{from, len(d.Src) - len(rest) + 1, ""}
	case last:
		return Edit{from, to, ""}
	case first, next, from < start:
		return Edit{start, to, ""}
	}
	return Edit{start, end, ""}
}

// AddMember puts a member with the given value, which is JSON, at the end of
// an object, laid out like its other members.
func (d *Document) AddMember(obj *Node, name, value string) []Edit {
	last := -1
	if k := len(obj.Members); k > 0 {
		last = obj.Members[k-1].NameStart
		return d.add(obj, last, obj.Members[k-1].Value.End, Quote(name)+": "+value)
	}
	return d.add(obj, -1, -1, Quote(name)+": "+value)
}

// AddElement puts a value, which is JSON, at the end of an array.
func (d *Document) AddElement(arr *Node, value string) []Edit {
	if k := len(arr.Elements); k > 0 {
		return d.add(arr, arr.Elements[k-1].Start, arr.Elements[k-1].End, value)
	}
	return d.add(arr, -1, -1, value)
}

// add appends text to holder, whose last entry lies from start to end; -1 when
// it has none.
func (d *Document) add(holder *Node, start, end int, text string) []Edit {
	if start < 0 {
		open := holder.Start + 1
		if !bytes.ContainsRune(d.Src[open:holder.End-1], '\n') {
			return []Edit{{open, open, text}}
		}
		indent := d.IndentOf(holder.Start)
		text = d.NewLine() + indent + d.unit() + strings.ReplaceAll(text, "\n", d.NewLine()+indent+d.unit())
		return []Edit{{open, open, text}}
	}
	comma := d.comma(end, holder.End-1)
	var edits []Edit
	at := end
	if comma >= 0 {
		at = comma + 1
	} else {
		edits = append(edits, Edit{end, end, ","})
	}
	if line := d.lineStart(start); len(bytes.Trim(d.Src[line:start], " \t")) > 0 && line > holder.Start {
		// The last entry shares its line with others.
		line = start
	} else if line <= holder.Start {
		text = " " + strings.ReplaceAll(text, "\n", d.NewLine()+d.IndentOf(start))
		if comma < 0 {
			return []Edit{{end, end, "," + text}}
		}
		return []Edit{{at, at, text}}
	}
	indent := d.IndentOf(start)
	text = d.NewLine() + indent + strings.ReplaceAll(text, "\n", d.NewLine()+indent)
	if comma >= 0 {
		text += "," // a list with a trailing comma keeps one
	}
	// A comment on the last entry's own line stays with it.
	after := d.endOfComments(at, holder.End-1)
	if comma < 0 && after == end {
		return []Edit{{end, end, "," + text}}
	}
	return append(edits, Edit{after, after, text})
}

// RemoveComment takes a comment out, and its line when nothing else is there.
func (d *Document) RemoveComment(start, end int) []Edit {
	for start > 0 && (d.Src[start-1] == ' ' || d.Src[start-1] == '\t') {
		start--
	}
	if (start == 0 || d.Src[start-1] == '\n') && end < len(d.Src) {
		if rest := bytes.TrimLeft(d.Src[end:], " \t\r"); bytes.HasPrefix(rest, []byte("\n")) {
			end = len(d.Src) - len(rest) + 1
		}
	}
	return []Edit{{start, end, ""}}
}

// Outdented returns the source of a value with the indentation of its first
// line taken from the others, as AddMember wants it.
func (d *Document) Outdented(n *Node) string {
	text := strings.ReplaceAll(string(d.Src[n.Start:n.End]), "\r\n", "\n")
	return strings.ReplaceAll(text, "\n"+d.IndentOf(n.Start), "\n")
}

// endOfComments returns the end of the comments behind at on the same line.
func (d *Document) endOfComments(at, limit int) int {
	end := at
	for t := range tokens(d.Src[:limit], at) {
		switch {
		case t.kind == comment:
			end = t.end
		case t.kind != blank || d.Src[t.start] == '\n' || d.Src[t.start] == '\r':
			return end
		}
	}
	return end
}

// comma returns the offset of the first comma outside comments, or -1.
func (d *Document) comma(from, to int) int {
	for t := range tokens(d.Src[:to], from) {
		if t.kind == other && d.Src[t.start] == ',' {
			return t.start
		}
	}
	return -1
}

// NewLine is how the document ends its lines.
func (d *Document) NewLine() string {
	if i := bytes.IndexByte(d.Src, '\n'); i > 0 && d.Src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

func (d *Document) lineStart(offset int) int {
	line, _ := d.Position(offset)
	return d.lines[line-1]
}

// IndentOf is the white space that the line of offset starts with.
func (d *Document) IndentOf(offset int) string {
	from := d.lineStart(offset)
	to := from
	for to < len(d.Src) && (d.Src[to] == ' ' || d.Src[to] == '\t') {
		to++
	}
	return string(d.Src[from:to])
}

// unit is one step of indentation: that of the root's first member.
func (d *Document) unit() string {
	if d.Root != nil && len(d.Root.Members) > 0 {
		if s := d.IndentOf(d.Root.Members[0].NameStart); s != "" {
			return s
		}
	}
	return "  "
}

// Quote writes s as a JSON string.
func Quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a text always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
