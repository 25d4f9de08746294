package visible

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Writer passes text on with control characters, with which it could move the
// cursor, change what was printed before or set the clipboard, as escapes.
// Every line begins with a prefix, so that none can pass for ours. Pieces may
// end anywhere. It is not safe for concurrent use.
type Writer struct {
	to     io.Writer
	prefix string
	inLine bool   // a line has begun and not ended
	rest   []byte // the beginning of a character
}

// NewWriter returns a Writer that passes text on to to; prefix may be empty.
func NewWriter(to io.Writer, prefix string) *Writer { return &Writer{to: to, prefix: prefix} }

// Write writes what p shows.
func (w *Writer) Write(p []byte) (int, error) {
	text := append(w.rest, p...)
	w.rest = nil
	var out bytes.Buffer
	for len(text) > 0 {
		if !utf8.FullRune(text) {
			w.rest = bytes.Clone(text)
			break
		}
		r, n := utf8.DecodeRune(text)
		w.show(&out, r, text[:n])
		text = text[n:]
	}
	if _, err := w.to.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes what is left and ends a line that has begun. It does not close
// the writer below.
func (w *Writer) Close() error {
	var out bytes.Buffer
	for i := range w.rest {
		w.show(&out, utf8.RuneError, w.rest[i:i+1])
	}
	w.rest = nil
	if w.inLine {
		out.WriteByte('\n')
		w.inLine = false
	}
	_, err := w.to.Write(out.Bytes())
	return err
}

func (w *Writer) show(out *bytes.Buffer, r rune, raw []byte) {
	if !w.inLine {
		out.WriteString(w.prefix)
		w.inLine = true
	}
	switch {
	case r == '\n':
		out.WriteByte('\n')
		w.inLine = false
	case r == utf8.RuneError && len(raw) == 1:
		fmt.Fprintf(out, `\x%02x`, raw[0])
	case r == '\t' || unicode.IsPrint(r):
		out.WriteRune(r)
	default:
		quoted := strconv.QuoteRuneToASCII(r)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
}
