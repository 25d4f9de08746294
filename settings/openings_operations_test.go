package settings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
)

// A person who is asked about a file sees everything of each operation, and first what
// may write.
func TestAttackOperationHiddenFromTheQuestion(t *testing.T) {
	const push = "git:github.com/acme/app push refs/heads/agent/*"
	long := "https://api.example.com GET /" + strings.Repeat("a", 300) + " /**"
	var s Settings
	for i := range 20 {
		s.Network.Allow = append(s.Network.Allow, fmt.Sprintf("https://h%d.example.com GET,HEAD /v1", i))
	}
	s.Network.Allow = append(s.Network.Allow, long, "s\u00fc.example", "https://b\u00fccher.example GET /",
		"https://api.example.org POST /x", push)
	if errs := firewall.Validate(s.Network); errs != nil {
		t.Fatal(errs)
	}
	var shown []string
	for _, o := range s.Openings() {
		if o.Kind == "operation" {
			shown = append(shown, o.Text)
		}
		if strings.ContainsFunc(o.Text, func(c rune) bool { return c > '~' && c != '\u2026' }) {
			t.Errorf("%q is shown as it is", o.Text)
		}
	}
	want := []string{
		"git: read acme/app at github.com, and push to refs/heads/agent/* there", "POST of /x at api.example.org",
		"GET of /" + strings.Repeat("a", 300) + " and /** at api.example.com", "GET, HEAD of /v1 at h0.example.com",
	}
	if len(shown) != maxOpenings+1 || strings.Join(shown[:4], "|") != strings.Join(want, "|") || shown[maxOpenings] != "and 12 more" {
		t.Errorf("%d: %q", len(shown), shown)
	}
}
