package jsonc

import "bytes"

// tooDeep returns the offset of the bracket that nests deeper than MaxDepth,
// or -1. It runs ahead of the parser, which recurses without a limit, and so
// looks at brackets only, outside strings and comments.
func tooDeep(src []byte) int {
	depth := 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '[', '{':
			if depth++; depth > MaxDepth {
				return i
			}
		case ']', '}':
			depth--
		case '"':
			for i++; i < len(src) && src[i] != '"'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
		case '/':
			i = skipComment(src, i)
		}
	}
	return -1
}

// skipComment returns the offset of the last byte of the comment that starts
// at i, or i when none does.
func skipComment(src []byte, i int) int {
	for start, end := range map[string]string{"//": "\n", "/*": "*/"} {
		if !bytes.HasPrefix(src[i:], []byte(start)) {
			continue
		}
		n := bytes.Index(src[i+len(start):], []byte(end))
		if n < 0 {
			return len(src)
		}
		return i + len(start) + n + len(end) - 1
	}
	return i
}
