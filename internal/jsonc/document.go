package jsonc

import (
	"bytes"
	"sort"

	"github.com/org/claude-sandbox/internal/diag"
)

// Document is a parsed file.
type Document struct {
	File string // as the user named it
	Src  []byte // as read, a byte order mark included
	Root *Node

	lines []int // offset of each line's first byte
}

func newDocument(file string, src []byte) *Document {
	breaks := bytes.Count(src, []byte{'\n'})
	d := &Document{File: file, Src: src, lines: make([]int, 1+breaks)}
	for n := range breaks {
		d.lines[n+1] = d.lines[n] + bytes.IndexByte(src[d.lines[n]:], '\n') + 1
	}
	return d
}

// Position returns the 1-based line and the 1-based column, in bytes, of an
// offset. A byte order mark takes no column, because no editor shows it.
func (d *Document) Position(offset int) (line, column int) {
	line = sort.SearchInts(d.lines, offset+1)
	column = offset - d.lines[line-1] + 1
	if line == 1 && bytes.HasPrefix(d.Src, bom) {
		column = max(1, column-len(bom))
	}
	return line, column
}

// Offset is the inverse of Position.
func (d *Document) Offset(line, column int) int {
	at := d.lines[line-1] + column - 1
	if line == 1 && bytes.HasPrefix(d.Src, bom) {
		at += len(bom)
	}
	return at
}

// LineStart returns the offset of the 1-based line n: 0 for one before the first, and the
// length of the text for one after the last.
func (d *Document) LineStart(n int) int {
	if n > len(d.lines) {
		return len(d.Src)
	}
	return d.lines[max(n, 1)-1]
}

// Finding places f at the bytes from start to end of the document: it fills in
// File and the four positions, shortens what it says, and leaves the rest as given.
func (d *Document) Finding(start, end int, f diag.Finding) diag.Finding {
	f.File, f.Message, f.Hint = d.File, diag.Short(f.Message), diag.Short(f.Hint)
	f.Line, f.Column = d.Position(start)
	if end <= start {
		f.EndLine, f.EndColumn = f.Line, f.Column
		return f
	}
	f.EndLine, f.EndColumn = d.Position(end - 1)
	f.EndColumn++
	return f
}

// Text makes a Document of a file that is not JSON, so that findings about its
// lines are placed in the same way. Its Root is nil.
func Text(file string, src []byte) *Document { return newDocument(file, src) }

// Comment is one comment, its markers included.
type Comment struct{ Start, End int }

// Comments returns the comments of a well-formed document, in their order.
func (d *Document) Comments() []Comment {
	var out []Comment
	for t := range tokens(d.Src, 0) {
		if t.kind == comment {
			out = append(out, Comment{t.start, t.end})
		}
	}
	return out
}

// Shared reports whether something other than white space stands before
// offset on its line.
func (d *Document) Shared(offset int) bool {
	return len(bytes.TrimSpace(bytes.TrimPrefix(d.Src[d.lineStart(offset):offset], bom))) > 0
}
