package rule

import (
	"slices"
	"strings"
	"testing"
)

// A word of the agent's is found in any case, wherever it stands.
func FuzzNamesAgent(f *testing.F) {
	for _, s := range []string{"", "-", "claude-code", "RUN npm i -g @Anthropic-AI/Claude-Code", "x-claude-cod", "code-claude-CODE-",
		"anthropic.claude",
		"--dangerously-skip-permissions", "dangerously-skip-permission", "laude-code", "@anthropic-ai", "@@anthropic-ai/", "anthropic..claude"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsFunc(s, func(c rune) bool { return c > '~' }) {
			return // some letters beyond ASCII are letters of ASCII in another case
		}
		want := slices.ContainsFunc(agentWords, func(w string) bool { return strings.Contains(strings.ToLower(s), w) })
		if got := namesAgent(s); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	})
}
