package jsonc

import (
	"strings"
	"testing"
)

// Names of values as people write them, also for a name with a slash.
func TestWhere(t *testing.T) {
	doc, _ := Parse("x", []byte(`{"a": [{"b": 1}], "c/d": {"e~f": 2}}`))
	for pointer, want := range map[string]string{"": "the file", "/a": "a", "/a/0": "a[0]", "/a/0/b": "a[0].b", "/c~1d/e~0f": "c/d.e~f"} {
		if got := doc.Root.Find(pointer).Where(); got != want {
			t.Errorf("%s: got %q, want %q", pointer, got, want)
		}
	}
	if n := len(doc.Root.Member("none").Fields()) + len(doc.Root.Member("a").Fields()); n > 0 {
		t.Errorf("%d members of nothing and of a list", n)
	}
}

// A cut never ends within a character.
func TestAbbreviate(t *testing.T) {
	for text, want := range map[string]string{"short": "short", strings.Repeat("ä", 40): strings.Repeat("ä", 40),
		strings.Repeat("ä", 41): strings.Repeat("ä", 40) + "…"} {
		if got := Abbreviate(text); got != want {
			t.Errorf("%s: got %q", text, got)
		}
	}
}
