package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/visible"
)

// isTerminal reports whether somebody sits at the other end of a stream.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// shown is where text of a repository's or the agent's goes: on a terminal its
// control characters are shown as text, a pipe or file gets every byte as it is.
func shown(w io.Writer) io.Writer {
	if isTerminal(w) {
		return visible.NewWriter(w, "")
	}
	return w
}

// printJSON writes v as JSON for programs that people read along with.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// unknownValue is the error of a flag whose value is none of the accepted ones.
func unknownValue(flag, value string, accepted ...string) error {
	return diag.WithHint(fmt.Errorf("unknown --%s %q", flag, value), "accepted: %s", strings.Join(accepted, ", "))
}

// count writes a number of things, the noun in the singular being given.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// size writes a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1_000_000_000:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}
