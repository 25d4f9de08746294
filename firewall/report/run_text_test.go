package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// A run refuses what the project's file opens and its user does not, so its end
// offers flags, each a word that a shell takes as it stands.
func TestRunTextOffersFlags(t *testing.T) {
	r := New([]audit.Record{
		deny("one.example", "", "r"),
		{Verdict: firewall.Deny, Layer: audit.LayerIP, Dst: "2001:db8::7", Port: 8443, Proto: firewall.TCP, Reason: "r"},
		{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: "db.example", Dst: "10.1.2.3", Reason: "r"},
	}, policyOf(t, firewall.Network{Allow: []string{"db.example"}}))
	var text strings.Builder
	if err := r.WriteRunText(&text); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text.String(), "\n")
	for _, want := range []string{
		"to open one.example, run again with --allow one.example",
		"to open 2001:db8::7, run again with --allow '[2001:db8::7]:8443'",
		"to open db.example, run again with --private db.example",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "add this line") {
		t.Errorf("a line for a file that does not open it:\n%s", text.String())
	}
}
