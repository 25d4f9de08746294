package terminal

import (
	"bytes"
	"strings"

	"github.com/org/claude-sandbox/internal/shellword"
)

// maxPastedPaths bounds a pasted text that is looked at, in bytes.
const maxPastedPaths = 4 << 10

// pastedPaths turns a pasted text that is paths of the person's machine, as terminals type
// a file that is dropped on them, into the paths of the same files in the sandbox. All else
// passes as it is. The zero value changes nothing.
type pastedPaths struct {
	// find is where the program finds a file of the person's machine; false = nowhere.
	find func(path string) (string, bool)
	held []byte // the beginning of a pasted text that may be paths, from its mark on
}

// take returns what the program gets for p. The beginning of a text that may be paths waits
// for its end. A mark that comes in two pieces is not seen.
func (c *pastedPaths) take(p []byte) (program []byte) {
	if c.find == nil {
		return p
	}
	for len(p) > 0 {
		if c.held == nil {
			before, rest, found := bytes.Cut(p, pasteBegins)
			program = append(program, before...)
			if !found {
				return program
			}
			c.held, p = bytes.Clone(pasteBegins), rest
		}
		c.held = append(c.held, p...)
		text, rest, whole := bytes.Cut(c.held[len(pasteBegins):], pasteEnds)
		switch {
		case whole:
			program = append(program, pasteBegins...)
			program = append(append(program, c.inSandbox(string(text))...), pasteEnds...)
		case mayBePaths(text):
			return program
		default:
			program, rest = append(program, c.held...), nil
		}
		c.held, p = nil, rest
	}
	return program
}

// mayBePaths reports whether a text that begins like this can be paths.
func mayBePaths(text []byte) bool {
	begin := bytes.TrimLeft(text, `'"`)
	return len(text) <= maxPastedPaths && !bytes.ContainsAny(text, "\r\n") && (len(begin) == 0 || begin[0] == '/' || isDrive(string(begin)))
}

// isDrive reports whether a text begins as a path of Windows, as far as it is there.
func isDrive(text string) bool {
	letter := text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z'
	return letter && strings.HasPrefix(`:\`, text[1:min(len(text), 3)])
}

// inSandbox is the text with the sandbox's paths, when all of it is paths that the sandbox
// has: one as it stands, or several as a shell reads them.
func (c *pastedPaths) inSandbox(text string) string {
	if !mayBePaths([]byte(text)) {
		return text
	}
	if there, ok := c.find(strings.Trim(text, ` '"`)); ok {
		return there
	}
	words, ok := shellword.Split(text)
	var paths []string
	for _, w := range words {
		there, found := c.find(w.Text)
		paths, ok = append(paths, escaped(there)), ok && found
	}
	if !ok || len(paths) == 0 {
		return text
	}
	return strings.Join(paths, " ")
}

// escaped is a path as terminals type one.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, " ", `\ `, "'", `\'`, `"`, `\"`).Replace(path)
}
