package obeyed

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Folded is a name as the least exact file systems of hosts compare it: without
// the difference of upper and lower case, of composed and decomposed characters
// (APFS, HFS+), of characters that cannot be seen (HFS+), and without dots and
// blanks at its end or a stream behind a colon (NTFS). Two names with one Folded
// may be one file there.
func Folded(name string) string {
	plain := true
	for i := range len(name) {
		if c := name[i]; c >= 0x80 || 'A' <= c && c <= 'Z' || c == ':' {
			plain = false
			break
		}
	}
	if !plain {
		name = strings.ToLower(norm.NFKC.String(strings.Map(func(r rune) rune {
			if Unseen(r) {
				return -1
			}
			return r
		}, name)))
		name, _, _ = strings.Cut(name, ":")
	}
	return strings.TrimRight(name, ". ")
}

// FoldedPath is a path with slashes, each of its names Folded.
func FoldedPath(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = Folded(part)
	}
	return strings.Join(parts, "/")
}

// Unseen reports whether a character takes no place or changes the order of others,
// such as zero-width and bidirectional ones, tags and variation selectors: a reader
// does not see it where a program does.
func Unseen(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return true
	}
	return r == 0x2800 // the empty Braille pattern
}
