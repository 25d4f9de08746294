// Package visible makes text that is not ours safe to show: what the agent, a
// repository or a server says can neither drive a terminal nor pass for a line
// of ours.
//
//	a stream            -> Writer -> the same lines behind a prefix
//	one line            -> Line   -> line ends are escapes as well
//	an error of several -> Folded -> one line, line ends are spaces
//	a name to compare   -> ASCII  -> everything but ASCII is an escape
//	data as JSON        -> WriteJSON -> escapes of JSON, the same data
//	a number, a noun    -> Count  -> both, the noun in its form
//
// Escapes are those of Go's string literals, such as \x1b. Findings show a
// character of a file as <U+001B> instead: package diag.
package visible

import (
	"fmt"
	"strconv"
	"strings"
)

// Line returns text as one line without a line end. Characters that are not printable
// become escapes, line ends too, so that the text neither drives a terminal nor
// begins a line of its own, which a workflow's runner would obey. Printable
// characters of every script stay.
func Line(text string) string {
	var out strings.Builder
	w := NewWriter(&out, "")
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			_, _ = w.Write([]byte(`\n`))
		}
		_, _ = w.Write([]byte(line))
	}
	_ = w.Close()
	return strings.TrimSuffix(out.String(), "\n")
}

// Folded is Line for a message of several lines, as some tools and libraries
// write them: their ends become single spaces.
func Folded(text string) string {
	return Line(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), " "))
}

// ASCII is Line with everything but printable ASCII as an escape, so that a
// name cannot look like another one either. Double quotes stay as they are.
func ASCII(text string) string {
	quoted := strconv.QuoteToASCII(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// Count is a number with its noun, which is given in the singular.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
