package jsonc

import (
	"slices"
	"strings"
)

// CommentsAbove returns the line comments that stand directly above the line
// that offset begins, on lines of their own, without their indentation.
func (d *Document) CommentsAbove(offset int) []string {
	var out []string
	at := d.lineStart(offset)
	if d.Shared(offset) {
		return nil // something else begins the line, and they are about that
	}
	for at > 0 {
		start := d.lineStart(at - 1)
		line := strings.TrimSpace(string(d.Src[start:at]))
		if !strings.HasPrefix(line, "//") {
			break
		}
		out = append(out, line)
		at = start
	}
	slices.Reverse(out)
	return out
}

// AddText puts text at the end of an object or array: a member or an element,
// which may have line comments on lines of their own above it.
func (d *Document) AddText(holder *Node, text string) []Edit {
	switch {
	case holder.Kind == Object && len(holder.Members) > 0:
		last := holder.Members[len(holder.Members)-1]
		return d.add(holder, last.NameStart, last.Value.End, text)
	case holder.Kind == Array && len(holder.Elements) > 0:
		last := holder.Elements[len(holder.Elements)-1]
		return d.add(holder, last.Start, last.End, text)
	}
	return d.add(holder, -1, -1, text)
}

// Lost lists the comments that edits take out: those of the text that they replace, unless the
// new text has them, too, however it is indented.
func (d *Document) Lost(edits []Edit) (lost []Comment) {
	kept := map[string]int{}
	for _, e := range edits {
		for t := range tokens([]byte(e.Text), 0) {
			if t.kind == comment {
				kept[unspaced(e.Text[t.start:t.end])]++
			}
		}
	}
	for _, c := range d.Comments() {
		if !slices.ContainsFunc(edits, func(e Edit) bool { return e.Start < c.End && c.Start < e.End }) {
			continue
		}
		if text := unspaced(string(d.Src[c.Start:c.End])); kept[text] > 0 {
			kept[text]--
		} else {
			lost = append(lost, c)
		}
	}
	return lost
}

func unspaced(text string) string { return strings.Join(strings.Fields(text), " ") }
