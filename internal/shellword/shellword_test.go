package shellword_test

import (
	"os/exec"
	"testing"

	"github.com/org/claude-sandbox/internal/shellword"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// A real shell reads each text back.
func TestQuote(t *testing.T) {
	sh := testenv.Program(t, "sh")
	for text, want := range map[string]string{
		"docs.example.com:443": "docs.example.com:443", "/a b": "'/a b'", "": "''", "*.example.com": "'*.example.com'", "[::1]:22": "'[::1]:22'",
		"it's": `'it'\''s'`, "~/x": "'~/x'", "$(id)": "'$(id)'", "a\nb": "'a\nb'", "--x=1": "--x=1", "ü": "'ü'",
	} {
		got := shellword.Quote(text)
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if back, err := exec.Command(sh, "-c", "printf %s "+got).Output(); err != nil || string(back) != text {
			t.Errorf("%q: the shell reads %q, %v", text, back, err)
		}
	}
}
