package sandbox

import (
	"slices"
	"testing"

	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// Where a value can be found again is noted, and that others cannot.
func TestSourcesOfSecrets(t *testing.T) {
	p := &runplan.Plan{}
	p.Secrets = []runplan.Secret{{Name: "A", From: "env:B"}, {Name: "C", From: "file:/c"}, {Name: "D", From: "op://v/i/f"}}
	p.Keys = []runplan.Key{{Binding: credential.Binding{Name: "K"}, From: "pass:k"}}
	names := []string{"A", "C", "D", "K"}
	s := sourcesOf(p, names)
	if len(s.Secrets) != 4 || s.Unknown {
		t.Errorf("%+v", s)
	}
	if s := sourcesOf(p, append(slices.Clone(names), "TOKEN")); !s.Unknown {
		t.Error("a variable that is a secret is forgotten")
	}
	for _, from := range []string{"cmd:cat x", "file:x", "nonsense"} {
		p := &runplan.Plan{}
		p.Secrets = []runplan.Secret{{Name: "A", From: from}}
		if s := sourcesOf(p, []string{"A"}); len(s.Secrets) > 0 || !s.Unknown {
			t.Errorf("%s: %+v", from, s)
		}
	}
}
