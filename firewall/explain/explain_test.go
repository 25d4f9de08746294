package explain_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/explain"
	"github.com/org/claude-sandbox/internal/test/golden"
	"github.com/org/claude-sandbox/settings"
)

// Each case has settings and targets, one a line, and the explanation of each target.
func TestWrite(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		s, findings := settings.Parse("sandbox.jsonc", c.Input(t, "sandbox.jsonc"), settings.NoFiles)
		if s == nil {
			t.Fatal(findings)
		}
		x := explain.Explainer{Policy: s.Policy(), List: func(list string) string { return "network." + list }, Place: s.Place}
		var got bytes.Buffer
		for line := range strings.Lines(string(c.Input(t, "targets"))) {
			target, err := firewall.ParseTarget(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			if err := x.Write(&got, target); err != nil {
				t.Fatal(err)
			}
		}
		c.Compare(t, "want", got.String())
	})
}

// The entry that Fix names opens the target and nothing that was denied.
func TestTheFixOpens(t *testing.T) {
	network := firewall.Network{Mode: firewall.ModeAllowlist, Allow: []string{"a.example"}, Deny: []string{"denied.example"}}
	policy, bad := firewall.NewPolicy(network)
	if bad != nil {
		t.Fatal(bad)
	}
	x := explain.Explainer{Policy: policy, List: func(string) string { return "the list" }, Place: func(string, string) string { return "" }}
	for _, text := range []string{"b.example:443", "b.example:22", "192.0.2.1:80", "denied.example:443", "169.254.169.254:80"} {
		target, err := firewall.ParseTarget(text)
		if err != nil {
			t.Fatal(err)
		}
		decision := target.Decide(policy)
		hint, why := x.Fix(target, decision.Verdict)
		if hint == "" && why == "" {
			t.Errorf("%s: neither an entry nor a reason", text)
		}
		if hint == "" {
			continue
		}
		var entry string
		if _, err := fmt.Sscanf(hint, "to open it, add to the list: %q", &entry); err != nil {
			t.Fatalf("%s: %q: %v", text, hint, err)
		}
		with := network
		with.Allow = append([]string{entry}, with.Allow...)
		wider, bad := firewall.NewPolicy(with)
		if bad != nil || !target.Decide(wider).Allowed() {
			t.Errorf("%s: %q does not open it: %v", text, entry, bad)
		}
	}
}
