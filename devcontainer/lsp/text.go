package lsp

import (
	"bytes"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// position is a place in a text: line and character from 0. Characters are UTF-16 code
// units, or bytes when both sides agree on that.
type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

// touches reports whether two ranges share a place; their ends count.
func (s span) touches(other span) bool {
	return !before(s.End, other.Start) && !before(other.End, s.Start)
}

func before(a, b position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Character < b.Character
}

// text is a file's text.
type text struct {
	*jsonc.Document
	bytes bool  // whether characters are bytes
	marks []int // UTF-16 units in front of every perMark-th byte, as far as somebody asked
}

// line returns a line, counted from 0, without its end; empty when there is none.
func (t *text) line(n int) []byte {
	return bytes.TrimRight(t.Src[t.LineStart(n+1):t.LineStart(n+2)], "\r\n")
}

// at returns the position of a line and a column in bytes, both from 1 as in findings.
func (t *text) at(line, column int) position {
	text := t.line(line - 1)
	column = min(max(column-1, 0), len(text))
	if t.bytes {
		return position{max(line-1, 0), column}
	}
	start := t.LineStart(line)
	return position{max(line-1, 0), t.units(start+column) - t.units(start)}
}

// perMark is how many bytes of a text are counted for one place in it.
const perMark = 1024

// units is the number of UTF-16 units in front of an offset.
func (t *text) units(offset int) int {
	for last := len(t.marks) - 1; len(t.marks) <= offset/perMark; last++ {
		if last < 0 {
			t.marks = append(t.marks, 0)
			continue
		}
		t.marks = append(t.marks, t.marks[last]+unitsOf(t.Src[last*perMark:(last+1)*perMark]))
	}
	from := offset / perMark
	return t.marks[from] + unitsOf(t.Src[from*perMark:offset])
}

// unitsOf counts a piece of UTF-8, which may begin and end within a character: each is counted at its first byte.
func unitsOf(piece []byte) (n int) {
	for _, c := range piece {
		if utf8.RuneStart(c) {
			n++
		}
		if c >= 0xF0 {
			n++
		}
	}
	return n
}

// offset is the inverse: of a position that lies outside, the nearest one inside.
func (t *text) offset(p position) int {
	text, at := t.line(p.Line), 0
	for units := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		width := max(utf16.RuneLen(r), 1)
		if t.bytes {
			width = size
		}
		if units += width; units > p.Character {
			break
		}
		at += size
	}
	return t.LineStart(p.Line+1) + at
}

// place is the position of an offset.
func (t *text) place(offset int) position {
	offset = min(max(offset, 0), len(t.Src))
	line, _ := t.Position(offset)
	return t.at(line, offset-t.LineStart(line)+1)
}

// isLocalFile reports whether a URI has a path and is one of this machine.
func isLocalFile(u *url.URL) bool {
	return u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") && u.Path != ""
}

// pathOf returns the file that a URI names, and false when it names none of this machine.
func pathOf(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || !isLocalFile(u) || strings.Contains(u.Path, "\x00") {
		return "", false
	}
	name := u.Path
	if runtime.GOOS == "windows" {
		name = strings.TrimPrefix(name, "/")
	}
	name = filepath.Clean(filepath.FromSlash(name))
	return name, filepath.IsAbs(name)
}
