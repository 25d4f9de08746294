package dockerfile

import (
	"bytes"

	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// Syntax returns the image that a file names as the program that reads it, and the lines that do.
func Syntax(src []byte) (image string, at []parser.Range, ok bool) {
	text := bytes.TrimSpace(withoutMark(src))
	spelt := bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("#!")) // JSON, which has other ways to write a name
	if !spelt && !mayDirect(src, "syntax") {
		return "", nil, false
	}
	image, _, at, ok = parser.DetectSyntax(src)
	return image, at, ok
}

// Escape returns the character that a file has in place of the backslash.
func Escape(src []byte) string {
	if said, _, ok := directive("escape", src); ok {
		return said
	}
	return `\`
}

// directive returns what a comment such as "# check=…" says at the top of a file, and its line.
func directive(name string, src []byte) (said string, at []parser.Range, ok bool) {
	if !mayDirect(src, name) {
		return "", nil, false
	}
	said, _, at, ok = parser.ParseDirective(name, src)
	return said, at, ok && len(at) > 0
}

// mayDirect reports whether one of the comments at the top of a file has the name of a directive in it. In most files
// none has, and BuildKit's reader of directives costs as much as the reading of some instructions.
func mayDirect(src []byte, name string) bool {
	for line := range bytes.Lines(withoutMark(src)) {
		line = bytes.TrimSpace(line)
		if !bytes.HasPrefix(line, []byte("#")) && !bytes.HasPrefix(line, []byte("//")) {
			return false
		}
		if bytes.Contains(bytes.ToLower(line), []byte(name)) {
			return true
		}
	}
	return false
}

func withoutMark(src []byte) []byte { return bytes.TrimPrefix(src, []byte(byteOrderMark)) }
