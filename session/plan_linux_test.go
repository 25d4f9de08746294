package session

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// TestRunTellsTheFirewallOfThisMachinesAddresses: a plan that run makes on a
// machine with addresses of the internet's names them to the firewall.
func TestRunTellsTheFirewallOfThisMachinesAddresses(t *testing.T) {
	lab := netnstest.New(t)
	dir := t.TempDir()
	var plan *runplan.Plan
	var err error
	lab.Sandbox.Do(func() { plan, err = planOf(dir, runplan.Options{ID: "test"}) })
	if err != nil {
		t.Fatal(err)
	}
	if command, want := strings.Join(plan.Sidecar.Entrypoint, " "), " --around 192.0.2.2,2001:db8::2 "; !strings.Contains(command, want) {
		t.Errorf("the firewall's command is %q, and lacks %q", command, want)
	}
}
