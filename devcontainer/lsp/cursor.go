package lsp

import (
	"bytes"
	"strconv"
	"strings"
)

// maxDepth bounds the nesting in which a place is looked for.
const maxDepth = 100

// cursor is a place in JSON text that need not be whole.
type cursor struct {
	known      bool
	path       []string // of names and numbers, to the value or name at the place
	atName     bool     // whether a member's name stands or may stand there
	start, end int      // of what is written there already
	names      []string // of the members in front of it in the same object
	hasValue   bool     // whether a colon follows the name
}

// level is an object or array around the place.
type level struct {
	array   bool
	index   int
	name    string
	atValue bool // behind the colon
	names   []string
}

// cursorAt reads text up to an offset, as an editor has it while somebody types.
func cursorAt(src []byte, offset int) cursor {
	offset = min(max(offset, 0), len(src))
	var around []level
	for at := 0; at < offset; {
		start, end, kind := nextToken(src, at)
		if start >= offset || kind == 0 {
			break
		}
		inside := end > offset || end == offset && (kind == 'w' || kind == '"' && !ends(src[start:end]))
		if kind == '/' {
			if inside {
				return cursor{}
			}
			at = end
			continue
		}
		if inside && kind == '"' {
			end = endOfWord(src, offset)
		}
		if inside {
			return placed(src, around, start, end)
		}
		if around = step(around, string(src[start:end]), kind); len(around) > maxDepth {
			return cursor{}
		}
		at = end
	}
	return placed(src, around, offset, offset)
}

// ends reports whether a string has its closing quote.
func ends(token []byte) bool { return len(token) > 1 && token[len(token)-1] == '"' }

// isWordByte reports whether a byte can be in a name within a string.
func isWordByte(c byte) bool {
	letter, digit := 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9'
	return letter || digit || strings.IndexByte("_-.", c) >= 0
}

// endOfWord returns where the word at an offset within a string ends, with its quote. Text
// behind a string without an end does not belong to it.
func endOfWord(src []byte, offset int) int {
	for at := offset; at < len(src); at++ {
		switch c := src[at]; {
		case c == '"':
			return at + 1
		case !isWordByte(c):
			return offset
		}
	}
	return offset
}

// step follows one token.
func step(around []level, token string, kind byte) []level {
	top := len(around) - 1
	switch kind {
	case '{', '[':
		return append(around, level{array: kind == '['})
	case '}', ']':
		return around[:max(top, 0)]
	}
	if top < 0 {
		return around
	}
	l := &around[top]
	switch kind {
	case ':':
		l.atValue = true
	case ',':
		l.index, l.atValue = l.index+1, false
	case '"':
		if !l.array && !l.atValue {
			if name, err := strconv.Unquote(token); err == nil {
				l.name, l.names = name, append(l.names, name)
			}
		}
	}
	return around
}

// placed describes the token from start to end within its levels.
func placed(src []byte, around []level, start, end int) cursor {
	if len(around) == 0 {
		return cursor{}
	}
	c := cursor{known: true, start: start, end: end}
	for n, l := range around {
		last := n == len(around)-1
		switch {
		case l.array:
			c.path = append(c.path, strconv.Itoa(l.index))
		case last && !l.atValue:
			c.atName, c.names = true, l.names
			c.path = append(c.path, strings.Trim(string(src[start:end]), `"`))
		default:
			c.path = append(c.path, l.name)
		}
	}
	if c.atName {
		_, _, kind := nextToken(src, end)
		c.hasValue = kind == ':'
	}
	return c
}

// nextToken returns the next token from at: a string, a bracket, a comma, a colon, a
// comment (kind '/') or a word (kind 'w'); kind 0 at the end. A string without an end
// stops at its line's.
func nextToken(src []byte, at int) (start, end int, kind byte) {
	for at < len(src) && strings.IndexByte(" \t\r\n\ufeff", src[at]) >= 0 {
		at++
	}
	if at >= len(src) {
		return at, at, 0
	}
	switch c := src[at]; {
	case strings.IndexByte("{}[],:", c) >= 0:
		return at, at + 1, c
	case c == '"':
		for end = at + 1; end < len(src) && src[end] != '\n'; end++ {
			switch src[end] {
			case '\\':
				end++
			case '"':
				return at, end + 1, '"'
			}
		}
		return at, min(end, len(src)), '"'
	case c == '/' && at+1 < len(src) && src[at+1] == '/':
		if n := bytes.IndexByte(src[at:], '\n'); n >= 0 {
			return at, at + n, '/'
		}
		return at, len(src), '/'
	case c == '/' && at+1 < len(src) && src[at+1] == '*':
		if n := bytes.Index(src[at:], []byte("*/")); n >= 0 {
			return at, at + n + 2, '/'
		}
		return at, len(src), '/'
	}
	for end = at + 1; end < len(src) && strings.IndexByte(" \t\r\n{}[],:\"/", src[end]) < 0; end++ {
	}
	return at, end, 'w'
}
