package settings

import (
	"strings"
	"unicode"

	"github.com/org/claude-sandbox/firewall/operation"
)

// SplitEntries cuts a text of one or more lines into entries of a network's list, at
// every character that separates. A typed entry holds spaces and commas itself: it
// goes on to the end of its line, or to where another typed entry begins. One that is
// a single word ends where any entry does.
func SplitEntries(text string, separates func(rune) bool) (entries []string) {
	for line := range strings.Lines(text) {
		for rest := strings.TrimSpace(line); rest != ""; {
			end := strings.IndexFunc(rest, separates)
			if operation.Typed(rest) {
				end = endOfTyped(rest)
			}
			if end < 0 {
				end = len(rest)
			}
			if entry := strings.TrimSpace(rest[:end]); entry != "" {
				entries = append(entries, entry)
			}
			rest = strings.TrimLeftFunc(rest[end:], func(c rune) bool { return separates(c) || unicode.IsSpace(c) })
		}
	}
	return entries
}

// endOfTyped is where the typed entry ends that text begins with; -1 = at its end.
func endOfTyped(text string) int {
	spaces := false
	for i, c := range text {
		switch {
		case c == ',' && !spaces:
			return i
		case c == ',' || c == ' ':
			if operation.Typed(strings.TrimLeft(text[i:], " ,")) {
				return i
			}
			spaces = spaces || c == ' '
		}
	}
	return -1
}
