package unconfined

import (
	"slices"
	"testing"

	"github.com/org/claude-sandbox/session/keys"
)

// Without a sandbox claude has the keys that this program takes out of its environment.
func TestClaudeHasItsKeysWithoutASandbox(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"} {
		t.Setenv(name, "canary")
		hidden := keys.Keys{name: "hidden"}
		got := Environment([]string{"HOME=/x"}, hidden.Getenv)
		if !slices.Contains(got, name+"=hidden") || !slices.Contains(got, "HOME=/x") {
			t.Errorf("%s: %q", name, got)
		}
		if got := Environment([]string{name + "=given"}, hidden.Getenv); slices.Contains(got, name+"=hidden") {
			t.Errorf("%s twice: %q", name, got)
		}
	}
}
