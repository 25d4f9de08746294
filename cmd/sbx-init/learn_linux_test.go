package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/learn"
)

// The learned allowlist lets a run reach again what it reached in mode audit,
// and what it did not reach stays closed.
func TestWhatWasLearnedIsEnoughAndNoMore(t *testing.T) {
	in := newInternet(t)
	reached := []string{"http://ok.test/", "http://ok6.test/", "http://evil.test:22/", "http://" + newAddr + ":22/"}
	other := []string{"http://other.test/", "http://ok.test:22/", "http://evil.test/", "http://" + newAddr + "/", "http://" + thirdAddr + "/"}
	network := firewall.Network{Mode: firewall.ModeAudit}
	b := newBox(t, in.Sandbox, policyText(t, network))
	r := b.sh(getScript(t, reached...))
	r.mustExit(t, 0)
	for url, ok := range answered(t, r.stdout) {
		if !ok {
			t.Fatalf("%s does not answer, the test shows nothing:\n%s", url, r.stdout)
		}
	}
	policy, bad := firewall.NewPolicy(network)
	if bad != nil {
		t.Fatal(bad)
	}
	lesson := learn.New(b.records(), policy, learn.Options{})
	network = lesson.Network(network)
	network.Mode = firewall.ModeAllowlist
	t.Logf("learned %q, left out %v", network.Allow, lesson.Left)

	b = newBox(t, in.Sandbox, policyText(t, network))
	r = b.sh(getScript(t, append(reached, other...)...))
	r.mustExit(t, 0)
	got := answered(t, r.stdout)
	for _, url := range reached {
		if !got[url] {
			t.Errorf("%s was reached in mode audit, and not with %q", url, network.Allow)
		}
	}
	for _, url := range other {
		if got[url] {
			t.Errorf("%s was not reached in mode audit, and is with %q", url, network.Allow)
		}
	}
}

func policyText(t *testing.T, network firewall.Network) string {
	t.Helper()
	var text strings.Builder
	if err := json.NewEncoder(&text).Encode(map[string]firewall.Network{"network": network}); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
