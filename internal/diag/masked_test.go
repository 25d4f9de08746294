package diag

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
)

// What a project says drives no terminal and turns no line around, in whichever form it is shown.
func TestNoFormShowsControlCharacters(t *testing.T) {
	const bad = "\u202e\u2066\u200b\u009b\x1b[2J\u2028\ufeff\U000e0041\x7f"
	found := []Finding{{Rule: "SBX101", Severity: SeverityError, File: "a" + bad, Line: 1, Column: 1, EndLine: 1, EndColumn: 2,
		Pointer: "/" + bad, Message: "m" + bad, Hint: "h" + bad}}
	source := func(string) []byte { return []byte("x" + bad) }
	tool := Tool{Name: "t", Version: "1", URI: "u", Rules: []RuleInfo{{ID: "SBX101"}}}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"json":   func(b *bytes.Buffer) error { return WriteJSON(b, found, []Problem{{Message: bad, Hint: bad}}) },
		"rdjson": func(b *bytes.Buffer) error { return WriteReviewdog(b, tool, found, nil) },
		"github": func(b *bytes.Buffer) error { return WriteGitHub(b, found, nil) },
		"sarif":  func(b *bytes.Buffer) error { return WriteSARIF(b, found, nil, tool, source) },
		"text":   func(b *bytes.Buffer) error { return WriteExcerpts(b, found, source) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(name, err)
		}
		if strings.ContainsFunc(strings.ReplaceAll(out.String(), "\n", ""), func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%s: %q", name, out.String())
		}
	}
}
