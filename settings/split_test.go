package settings

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestEntriesOfAText(t *testing.T) {
	comma := func(c rune) bool { return c == ',' }
	blank := func(c rune) bool { return c == ',' || unicode.IsSpace(c) }
	const get, post = "https://api.example.com GET,HEAD /v1/** /v2/*", "https://api.example.org POST /x"
	for _, tc := range []struct {
		text      string
		separates func(rune) bool
		want      string // separated by " | "
	}{
		{"", comma, ""},
		{" , ,\n,", comma, ""},
		{"a.example,*.b.example:22 , c.example", comma, "a.example | *.b.example:22 | c.example"},
		{"a.example b.example\nc.example", blank, "a.example | b.example | c.example"},
		{"@my lists/hosts.txt,a.example", comma, "@my lists/hosts.txt | a.example"},
		{get, comma, get},
		{get, blank, get},
		{"a.example," + get, comma, "a.example | " + get},
		{"a.example " + get + "\nb.example", blank, "a.example | " + get + " | b.example"},
		{get + "," + post, comma, get + " | " + post},
		{get + ", " + post, comma, get + " | " + post},
		{get + " " + post, blank, get + " | " + post},
		// The rest of a line belongs to its typed entry, and is then wrong: it opens no host.
		{get + ",evil.example", comma, get + ",evil.example"},
		{get + ", evil.example", comma, get + ", evil.example"},
		{get + " evil.example", blank, get + " evil.example"},
		{"https://api.example.com,a.example", comma, "https://api.example.com | a.example"},
		{"https:443,a.example", comma, "https:443 | a.example"},
	} {
		if got := SplitEntries(tc.text, tc.separates); strings.Join(got, " | ") != tc.want {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
}

// Each entry is a part of the text, and is cut no further.
func FuzzEntriesOfAText(f *testing.F) {
	f.Add("https://api.example.com GET,HEAD /v1/**,evil.example a.example")
	f.Fuzz(func(t *testing.T, text string) {
		for _, separates := range []func(rune) bool{func(c rune) bool { return c == ',' }, unicode.IsSpace} {
			for _, entry := range SplitEntries(text, separates) {
				if entry == "" || strings.TrimSpace(entry) != entry || !strings.Contains(text, entry) {
					t.Errorf("%q: %q", text, entry)
				}
				if again := SplitEntries(entry, separates); !slices.Equal(again, []string{entry}) {
					t.Errorf("%q: %q is cut once more, into %q", text, entry, again)
				}
			}
		}
	})
}
