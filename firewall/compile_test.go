package firewall_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/golden"
)

func TestCompile(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		p := policy(t, readJSON[firewall.Network](t, c, "network.json"))
		plan, err := firewall.Compile(p, readJSON[firewall.Facts](t, c, "facts.json"))
		if err != nil {
			c.Compare(t, "want.error", err.Error()+"\nhint: "+diag.HintOf(err))
			return
		}
		c.Compare(t, "want.plan", plan.String())
	})
}

func TestClosedPlan(t *testing.T) {
	got := firewall.ClosedPlan(firewall.Facts{IPv6: true})
	for _, tables := range [][]firewall.Table{got.V4, got.V6} {
		script := firewall.Script(tables, firewall.Present{})
		for _, want := range []string{":INPUT DROP", ":FORWARD DROP", ":OUTPUT DROP",
			"-I OUTPUT 1 -j SBX-OUT", "-A SBX-OUT -j DROP", "-I INPUT 1 -j SBX-IN", "-A SBX-IN -j DROP",
			"-I FORWARD 1 -j SBX-FWD", "-A SBX-FWD -j DROP"} {
			if !strings.Contains(script, want) {
				t.Errorf("the script lacks %q:\n%s", want, script)
			}
		}
		if strings.Contains(script, "ACCEPT") {
			t.Errorf("the script accepts something:\n%s", script)
		}
	}
	if plan := firewall.ClosedPlan(firewall.Facts{}); plan.V6 != nil {
		t.Error("rules for IPv6, which is not there")
	}
}

// Whatever a policy says, both families end with the refusal, drop by policy
// and never accept without a condition.
func TestEveryPlanIsClosedAtTheEnd(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		p := policy(t, readJSON[firewall.Network](t, c, "network.json"))
		plan, err := firewall.Compile(p, readJSON[firewall.Facts](t, c, "facts.json"))
		if err != nil || p.Mode() == firewall.ModeHost {
			return
		}
		for _, tables := range [][]firewall.Table{plan.V4, plan.V6} {
			for _, table := range tables {
				if table.Name == "filter" && strings.Join(table.Drop, " ") != "INPUT FORWARD OUTPUT" {
					t.Errorf("policies: %v", table.Drop)
				}
				for _, chain := range table.Chains {
					// A queue's "go on" is "accept" unless the filter table comes after it.
					if table.Name != "mangle" &&
						slices.ContainsFunc(chain.Rules, func(r firewall.Rule) bool { return strings.Contains(r.Spec, "QUEUE") }) {
						t.Errorf("%s in table %s hands packets to a queue", chain.Name, table.Name)
					}
					for i, rule := range chain.Rules {
						if rule.Spec == "-j ACCEPT" && chain.Name != firewall.ChainPass {
							t.Errorf("%s accepts everything", chain.Name)
						}
						left := len(chain.Rules) - 1 - i
						closing := chain.Name == firewall.ChainOut || chain.Name == firewall.ChainIn || chain.Name == firewall.ChainPast
						if closing && left == 0 && rule.Spec != "-j DROP" || chain.Name == firewall.ChainOut && left == 1 &&
							rule.Spec != "-j "+firewall.ChainRefuse {
							t.Errorf("%s ends with %q", chain.Name, rule.Spec)
						}
					}
				}
			}
		}
	})
}

func TestSetNamesFitTheKernel(t *testing.T) {
	for _, name := range []string{firewall.SetName4, firewall.SetName6, firewall.StaticName4, firewall.StaticName6, firewall.SeenName4,
		firewall.SeenName6, firewall.PassedName4, firewall.PassedName6, firewall.HeldName4, firewall.HeldName6} {
		if len(name) > 31 { // IPSET_MAXNAMELEN is 32 with the final NUL
			t.Errorf("%s is too long", name)
		}
	}
}

func policy(t testing.TB, n firewall.Network) *firewall.Policy {
	t.Helper()
	p, errs := firewall.NewPolicy(n)
	if errs != nil {
		t.Fatalf("NewPolicy: %v", errs)
	}
	return p
}

func readJSON[T any](t testing.TB, c *golden.Case, name string) (v T) {
	t.Helper()
	if err := json.Unmarshal(c.Input(t, name), &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// Mode host is the one mode that says "no firewall", so it is the one exception
// of the test above. Even there nothing is forwarded for others.
func TestModeHostFiltersNothing(t *testing.T) {
	plan, err := firewall.Compile(policy(t, firewall.Network{Mode: firewall.ModeHost}), firewall.Facts{IPv6: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Sets) > 0 || !plan.Open {
		t.Errorf("sets %v, open %v", plan.Sets, plan.Open)
	}
	for _, tables := range [][]firewall.Table{plan.V4, plan.V6} {
		script := firewall.Script(tables, firewall.Present{})
		for _, want := range []string{"-A SBX-OUT -j ACCEPT", "-A SBX-IN -j ACCEPT", ":FORWARD DROP"} {
			if !strings.Contains(script, want) {
				t.Errorf("the script lacks %q:\n%s", want, script)
			}
		}
		for _, bad := range []string{"REDIRECT", "REJECT", "-j DROP", "NFLOG"} {
			if strings.Contains(script, bad) {
				t.Errorf("the script has %q:\n%s", bad, script)
			}
		}
	}
}
