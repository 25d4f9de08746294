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
	bytes bool // whether characters are bytes
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
	units := 0
	for _, r := range string(text[:column]) {
		units += max(utf16.RuneLen(r), 1)
	}
	return position{max(line-1, 0), units}
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
