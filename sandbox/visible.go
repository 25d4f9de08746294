package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible is a writer that makes text of the agent's safe to show: control
// characters, with which it could move the cursor, change what was printed
// before or set the clipboard, are written as escapes such as \x1b, and every
// line begins with a prefix, so that none can pass for ours. Pieces may end
// anywhere. It is not safe for concurrent use.
type Visible struct {
	to     io.Writer
	prefix string
	inLine bool   // a line has begun and not ended
	rest   []byte // the beginning of a character
}

// NewVisible returns a Visible that writes to to.
func NewVisible(to io.Writer, prefix string) *Visible { return &Visible{to: to, prefix: prefix} }

// VisibleLine is text with names of the agent's or the repository's in it as
// one line that is safe to show: control characters, line ends among them, are
// escapes, so that it neither drives a terminal nor begins a line of its own,
// which a workflow's runner would obey.
func VisibleLine(text string) string {
	var out bytes.Buffer
	v := NewVisible(&out, "")
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			_, _ = v.Write([]byte(`\n`))
		}
		_, _ = v.Write([]byte(line))
	}
	_ = v.Close()
	return strings.TrimSuffix(out.String(), "\n")
}

// Write writes what p shows.
func (v *Visible) Write(p []byte) (int, error) {
	text := append(v.rest, p...)
	v.rest = nil
	var out bytes.Buffer
	for len(text) > 0 {
		if !utf8.FullRune(text) {
			v.rest = bytes.Clone(text)
			break
		}
		r, n := utf8.DecodeRune(text)
		v.show(&out, r, text[:n])
		text = text[n:]
	}
	if _, err := v.to.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes what is left and ends a line that has begun. It does not close
// the writer below.
func (v *Visible) Close() error {
	var out bytes.Buffer
	for i := range v.rest {
		v.show(&out, utf8.RuneError, v.rest[i:i+1])
	}
	v.rest = nil
	if v.inLine {
		out.WriteByte('\n')
		v.inLine = false
	}
	_, err := v.to.Write(out.Bytes())
	return err
}

func (v *Visible) show(out *bytes.Buffer, r rune, raw []byte) {
	if !v.inLine {
		out.WriteString(v.prefix)
		v.inLine = true
	}
	switch {
	case r == '\n':
		out.WriteByte('\n')
		v.inLine = false
	case r == utf8.RuneError && len(raw) == 1:
		fmt.Fprintf(out, `\x%02x`, raw[0])
	case r == '\t' || unicode.IsPrint(r):
		out.WriteRune(r)
	default:
		quoted := strconv.QuoteRuneToASCII(r)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
}
