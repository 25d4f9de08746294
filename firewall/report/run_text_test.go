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
	if err := r.WriteRunText(&text, " --project app"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text.String(), "\n")
	for _, want := range []string{
		"to open one.example: sbx-devc allow --project app one.example (for one run: --allow one.example)",
		"to open 2001:db8::7: sbx-devc allow --project app '[2001:db8::7]:8443' (for one run: --allow '[2001:db8::7]:8443')",
		"to open db.example: sbx-devc allow --project app --private db.example (for one run: --private db.example)",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "add this line") {
		t.Errorf("a line for a file that does not open it:\n%s", text.String())
	}
}
