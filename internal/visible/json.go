package visible

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// WriteJSON writes v as encoding/json does, without turning <, > and & into escapes, and with characters that are not
// printable as escapes: the data are the same, and whoever sees the text on a terminal sees that they are there.
func WriteJSON(w io.Writer, v any, indent string) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	masked := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	for rest := text.Bytes(); len(rest) > 0; {
		n := bytes.IndexFunc(rest, masked)
		if n < 0 {
			n = len(rest)
		}
		if _, err := w.Write(rest[:n]); err != nil {
			return err
		}
		if rest = rest[n:]; len(rest) == 0 {
			break
		}
		r, size := utf8.DecodeRune(rest)
		rest = rest[size:]
		for _, u := range utf16.Encode([]rune{r}) {
			if _, err := fmt.Fprintf(w, `\u%04x`, u); err != nil {
				return err
			}
		}
	}
	return nil
}
