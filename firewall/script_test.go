package firewall_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/test/golden"
)

// chains is what a naive packet filter holds of one family.
type chains map[string][]string

// restore does what iptables-restore --noflush does with a script, and reports
// how many rules it removed.
func (c chains) restore(t *testing.T, script string) (removed int) {
	t.Helper()
	table := ""
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		fields := strings.Fields(line)
		key := func(chain string) string { return firewall.ChainKey(table, chain) }
		rest := func(n int) string { return strings.Join(fields[n:], " ") }
		switch {
		case line == "COMMIT" || strings.HasPrefix(line, "#"):
		case line[0] == '*':
			table = line[1:]
		case line[0] == ':':
			chain := fields[0][1:]
			if fields[1] == "-" {
				removed += len(c[key(chain)])
				c[key(chain)] = nil
			}
		case fields[0] == "-A":
			c[key(fields[1])] = append(c[key(fields[1])], rest(2))
		case fields[0] == "-I":
			var at int
			if _, err := fmt.Sscan(fields[2], &at); err != nil || at < 1 || at > len(c[key(fields[1])])+1 {
				t.Fatalf("%q where there are %d rules", line, len(c[key(fields[1])]))
			}
			c[key(fields[1])] = slices.Insert(c[key(fields[1])], at-1, rest(3))
		case fields[0] == "-D":
			i := slices.Index(c[key(fields[1])], rest(2))
			if i < 0 {
				t.Fatalf("%q: no such rule", line)
			}
			c[key(fields[1])] = slices.Delete(c[key(fields[1])], i, i+1)
			removed++
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	return removed
}

func (c chains) present() firewall.Present { return firewall.Present{Chains: c, Dropped: true} }

// mustHold fails unless the tables are in force.
func (c chains) mustHold(t *testing.T, tables []firewall.Table) {
	t.Helper()
	for _, table := range tables {
		for _, chain := range table.Chains {
			have, ok := c[firewall.ChainKey(table.Name, chain.Name)]
			if !ok || !slices.EqualFunc(chain.Rules, have, func(r firewall.Rule, spec string) bool { return r.Spec == spec }) {
				t.Fatalf("%s is %q", chain.Name, have)
			}
		}
		for _, jump := range table.Jumps {
			have := c[firewall.ChainKey(table.Name, jump.From)]
			if len(have) == 0 || have[0] != jump.Spec() || slices.Contains(have[1:], jump.Spec()) {
				t.Fatalf("%s in %s is %q", jump.From, table.Name, have)
			}
		}
	}
}

// foreign are the rules of built-in chains that are not ours.
func (c chains) foreign() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(c)) {
		for _, rule := range c[key] {
			if !strings.Contains(key, "SBX") && !strings.Contains(rule, "SBX") {
				b.WriteString(key + " " + rule + "\n")
			}
		}
	}
	return b.String()
}

// spoil changes something in some of the chains, as somebody else could.
func (c chains) spoil(random *rand.Rand) {
	for _, key := range slices.Sorted(maps.Keys(c)) {
		rules := c[key]
		at := random.IntN(len(rules) + 1)
		switch random.IntN(8) {
		case 0:
			c[key] = slices.Insert(rules, at, "-p tcp -j ACCEPT")
		case 1:
			if at < len(rules) {
				c[key] = append(rules, rules[at])
			}
		case 2:
			if at < len(rules) {
				c[key] = slices.Delete(rules, at, at+1)
			}
		case 3:
			delete(c, key)
		}
	}
}

func goldenPlans(t *testing.T) []firewall.Plan {
	plans := []firewall.Plan{firewall.ClosedPlan(firewall.Facts{})}
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		plan, err := firewall.Compile(policy(t, readJSON[firewall.Network](t, c, "network.json")), readJSON[firewall.Facts](t, c, "facts.json"))
		if err == nil {
			plans = append(plans, plan)
		}
	})
	return plans
}

// From any plan to any other, whatever somebody else did in between, the script
// leads to exactly the other, and leaves everybody else's rules alone; and then
// there is nothing more to do.
func TestScriptLeadsToThePlan(t *testing.T) {
	plans := goldenPlans(t)
	random := rand.New(rand.NewPCG(1, 2))
	c := chains{}
	for range 5000 {
		tables := plans[random.IntN(len(plans))].V4
		foreign := c.foreign()
		c.restore(t, firewall.Script(tables, c.present()))
		c.mustHold(t, tables)
		if c.foreign() != foreign {
			t.Fatalf("rules of others were\n%sand are\n%s", foreign, c.foreign())
		}
		if again := firewall.Script(tables, c.present()); again != "" {
			t.Fatalf("the second time there is this left to do:\n%s", again)
		}
		c.spoil(random)
	}
}

// Removing a rule costs more time than all the rest of the start, so that
// opening what the start has closed must not.
func TestOpeningRemovesNothing(t *testing.T) {
	for _, plan := range goldenPlans(t) {
		if plan.Open {
			continue
		}
		c := chains{}
		c.restore(t, firewall.Script(firewall.ClosedPlan(firewall.Facts{}).V4, firewall.Present{Dropped: true}))
		script := firewall.Script(plan.V4, c.present())
		if removed := c.restore(t, script); removed > 0 {
			t.Errorf("%d rules are removed:\n%s", removed, script)
		}
	}
}
