package jsonc

import (
	"bytes"
	"iter"
)

// tokenKind is what a token is.
type tokenKind int

const (
	blank   tokenKind = iota // one byte of white space
	comment                  // its markers included, without the end of its line
	quoted                   // a string, its quotes included
	other                    // one byte: a bracket, a comma, a colon, a part of a word
)

// token is a piece of source. Nothing is checked: a string or comment without
// an end reaches to the end of the source.
type token struct {
	kind       tokenKind
	start, end int
}

// tokens cuts the source from an offset on into pieces. It is what everything
// here that looks at bytes uses to tell strings and comments from the rest.
func tokens(src []byte, from int) iter.Seq[token] {
	return func(yield func(token) bool) {
		for i := from; i < len(src); {
			t := token{other, i, i + 1}
			switch {
			case src[i] == ' ' || src[i] == '\t' || src[i] == '\r' || src[i] == '\n':
				t.kind = blank
			case src[i] == '"':
				t.kind = quoted
				t.end = endOfString(src, i)
			case bytes.HasPrefix(src[i:], []byte("//")):
				t.kind, t.end = comment, len(src)
				if n := bytes.IndexByte(src[i:], '\n'); n >= 0 {
					t.end = i + len(bytes.TrimRight(src[i:i+n], "\r"))
				}
			case bytes.HasPrefix(src[i:], []byte("/*")):
				t.kind, t.end = comment, len(src)
				if n := bytes.Index(src[i+2:], []byte("*/")); n >= 0 {
					t.end = i + n + 4
				}
			}
			if !yield(t) {
				return
			}
			i = t.end
		}
	}
}

// loneReturn returns the offset of a carriage return inside a comment of one line, or -1: for the reference CLI it ends the comment.
func loneReturn(src []byte) int {
	if bytes.Count(src, []byte{'\r'}) == bytes.Count(src, []byte("\r\n")) {
		return -1
	}
	for t := range tokens(src, 0) {
		if t.kind == comment && src[t.start+1] == '/' {
			if at := bytes.IndexByte(src[t.start:t.end], '\r'); at >= 0 {
				return t.start + at
			}
		}
	}
	return -1
}

// endOfString returns the offset behind the string that starts at i: of one without
// an end, the end of the source.
func endOfString(src []byte, i int) int {
	for i++; i < len(src); i++ {
		switch src[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(src)
}

// tooDeep returns the offset of the bracket that nests deeper than MaxDepth,
// or -1. It runs ahead of the parser, which recurses without a limit, and so
// looks at brackets only.
func tooDeep(src []byte) int {
	depth := 0
	for t := range tokens(src, 0) {
		if t.kind != other {
			continue
		}
		switch src[t.start] {
		case '[', '{':
			if depth++; depth > MaxDepth {
				return t.start
			}
		case ']', '}':
			depth--
		}
	}
	return -1
}
