package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// The plan that is printed is the plan that runs: loaded by the real programs
// into an empty network, it leaves what run leaves.
func TestPlanIsWhatRunApplies(t *testing.T) {
	policies := map[string]string{
		"names and addresses": `{"network": {"allow": ["ok.test", "git.test:22", "*.wild.test", "192.0.2.0/24:8443", "[2001:db8::/32]:8443"]}}`,
		"without the guard":   `{"network": {"allow": ["ok.test"], "guard": "off"}}`,
		"addresses alone":     `{"network": {"allow": ["192.0.2.0/24:8443"]}}`,
		"inbound":             `{"network": {"allow": ["ok.test"], "inbound": [8080]}}`,
		"nothing":             `{"network": {"mode": "none"}}`,
		"operations":          `{"network": {"allow": ["git:ok.test/acme/app", "*.wild.test"], "private": ["*.wild.test"]}}`,
		"denied":              `{"network": {"allow": ["*.wild.test", "192.0.2.0/24:8443"], "deny": ["no.wild.test", "192.0.2.7"]}}`,
		"audit":               auditPolicy,
	}
	for _, backend := range []string{"nft", "legacy"} {
		for name, policy := range policies {
			t.Run(backend+"/"+name, func(t *testing.T) {
				testenv.Program(t, "iptables-"+backend)
				in := newInternet(t)
				b := newBox(t, in.Sandbox, policy)
				if backend == "legacy" {
					b.inNamespace("iptables-legacy", "-t", "nat", "-L") // makes the table, as an engine does
				}
				r := b.finish(b.initCommand("plan", "--policy", b.path("policy.jsonc")))
				r.mustExit(t, 0)
				startSidecar(t, b)
				if s := b.status(); s.Backend != backend {
					t.Fatalf("backend %s, want %s", s.Backend, backend)
				}
				got, want := b.saved(backend), loadedPlan(t, backend, r.stdout)
				if got != want {
					t.Errorf("%s", diff.Diff("the plan", []byte(want), "the kernel", []byte(got)))
				}
				if !strings.Contains(got, "-A SBX-OUT") {
					t.Errorf("nothing was compared: %s", got)
				}
			})
		}
	}
}

// loadedPlan returns what the kernel holds after the real programs have loaded a
// printed plan into a network namespace of its own.
func loadedPlan(t *testing.T, backend, plan string) string {
	t.Helper()
	b := &box{t: t, ns: netnstest.New(t).Sandbox}
	parts := regexp.MustCompile(`(?m)^# (ipset restore|iptables-restore --noflush|ip6tables-restore --noflush)\n`).Split(plan, -1)
	if len(parts) != 4 {
		t.Fatalf("the plan has %d parts, want 3 after the head", len(parts)-1)
	}
	for i, args := range [][]string{{"ipset", "restore"}, {"iptables-" + backend + "-restore", "--noflush"},
		{"ip6tables-" + backend + "-restore", "--noflush"}} {
		var out []byte
		var err error
		b.ns.Do(func() {
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Stdin = strings.NewReader(parts[i+1])
			out, err = cmd.CombinedOutput()
		})
		if err != nil {
			t.Fatalf("%q: %v: %s\n%s", args, err, out, parts[i+1])
		}
	}
	return b.saved(backend)
}

// saved is what iptables-save and ip6tables-save print, without counters and
// comments, and what ipset knows of sets.
func (b *box) saved(backend string) string {
	b.t.Helper()
	counters := regexp.MustCompile(`\[\d+:\d+\]`)
	var out strings.Builder
	for _, program := range []string{"iptables-" + backend + "-save", "ip6tables-" + backend + "-save"} {
		for _, table := range []string{"filter", "nat", "mangle"} { // their order depends on which came first
			for line := range strings.Lines(b.inNamespace(program, "-t", table)) {
				if !strings.HasPrefix(line, "#") {
					out.WriteString(counters.ReplaceAllString(line, ""))
				}
			}
		}
	}
	for line := range strings.Lines(b.inNamespace("ipset", "list", "-t")) {
		if strings.HasPrefix(line, "Name: ") || strings.HasPrefix(line, "Type: ") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// A plan from assumed facts is complete: a fact that is left out would leave its
// rules out without a word.
func TestAssumedFactsAreComplete(t *testing.T) {
	facts := firewall.AssumedFacts()
	if !facts.IPv6 || len(facts.Upstreams) == 0 || facts.ResolverPort == 0 || facts.GuardPort == 0 || facts.Mark == 0 ||
		!facts.NFLOG || !facts.Queue || !facts.Headers || len(facts.Around) == 0 {
		t.Errorf("%+v", facts)
	}
}

// Without the rights to ask the kernel the plan says what it assumes.
func TestPlanWithoutRightsNamesItsAssumptions(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	cmd := b.initCommand()
	cmd.Args[len(cmd.Args)-1] = "setpriv"
	cmd.Args = append(cmd.Args, "--reuid", "54321", "--clear-groups", b.bin+"/sbx-init", "plan", "--policy", b.path("policy.jsonc"))
	r := b.finish(cmd)
	r.mustExit(t, 0)
	r.mustSay(t, "# The kernel was not asked (", "-m ipv6header")
}
