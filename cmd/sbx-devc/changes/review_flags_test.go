package changes

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/session/review"
)

// Attack: the name of a dangerous file is a glob, and the flag that a person pastes to
// accept that file accepts every other one.
func TestAttackANameThatIsAGlob(t *testing.T) {
	for _, name := range []string{"**", "*", "a/*/.envrc", "**/.envrc", "[a-z]", "?", `a\b`, "plain/.envrc"} {
		flag := strings.Trim(strings.TrimPrefix(acceptFlags([]string{name})[0], "--accept-dangerous "), "'")
		if err := review.CheckGlob(flag); err != nil || !review.Match(flag, name) {
			t.Errorf("%q does not name %q: %v", flag, name, err)
		}
		for _, other := range []string{"Makefile", "a/x/.envrc", ".envrc", "b"} {
			if review.Match(flag, other) {
				t.Errorf("%q, for %q, accepts %q", flag, name, other)
			}
		}
	}
}
