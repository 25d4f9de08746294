package firewall_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"

	"github.com/org/claude-sandbox/firewall"
)

// The policy at a target, with whatever entry is added, decides about the target as the
// whole one does, and refuses the same entries.
func TestAtDecidesAboutItsTargetAsTheWhole(t *testing.T) {
	names := []string{"a.example", "*.a.example", "b.a.example:22", "*.b.a.example:8443", "192.0.2.0/24:443", "192.0.2.7", "x.example",
		"git:git.example/acme/app read", "*.git.example", "git.example:22"}
	targets := []firewall.Target{
		{Name: "a.example"}, {Name: "b.a.example", Port: 22}, {Name: "c.b.a.example", Port: 8443}, {Name: "git.example", Port: 443},
		{Name: "x.example", Port: 443}, {Name: "github.com", Port: 443}, {Name: "A.Example.", Port: 443},
		{Addr: netip.MustParseAddr("192.0.2.7"), Port: 443}, {Addr: netip.MustParseAddr("::ffff:192.0.2.8"), Port: 443},
		{Name: "x.example", Addr: netip.MustParseAddr("192.0.2.7"), Port: 443}, {Addr: netip.MustParseAddr("10.0.0.1")},
	}
	random := rand.New(rand.NewPCG(3, 4))
	some := func(from []string) (out []string) {
		for _, s := range from {
			if random.IntN(3) == 0 {
				out = append(out, s)
			}
		}
		return out
	}
	policies := 0
	for range 1500 {
		n := firewall.Network{Allow: some(names), Deny: some(names[:7]), Presets: some([]string{"npm", "github"})}
		if random.IntN(3) == 0 {
			n.Mode = firewall.ModeAudit
		}
		p, bad := firewall.NewPolicy(n)
		if bad != nil {
			continue // an entry for a host whose operations another one names
		}
		policies++
		for _, target := range targets {
			target.Proto = firewall.TCP
			at := p.At(target)
			if got, want := target.Decide(at), target.Decide(p); got != want {
				t.Fatalf("%+v at %+v: %+v, want %+v", n, target, got, want)
			}
			for _, entry := range append(names, target.Host()) {
				more := firewall.Network{Allow: []string{entry}}
				whole, bad := p.With(more)
				there, badThere := at.With(more)
				if whole == nil && there != nil && speaksOf(entry, target) || whole != nil && there == nil {
					t.Fatalf("%+v at %+v with %s: %v, want %v", n, target, entry, badThere, bad)
				}
				if whole == nil || there == nil {
					continue
				}
				if got, want := target.Decide(there).Verdict, target.Decide(whole).Verdict; got != want {
					t.Fatalf("%+v at %+v with %s: %s, want %s", n, target, entry, got, want)
				}
			}
		}
	}
	if policies < 300 {
		t.Fatalf("%d policies are too few to say anything", policies)
	}
}

// speaksOf reports whether an entry alone opens something of the target.
func speaksOf(entry string, target firewall.Target) bool {
	alone, bad := firewall.NewPolicy(firewall.Network{Allow: []string{entry}})
	return bad == nil && len(alone.Mentioned(target)) > 0
}

// A trial of one entry copies nothing of a long allowlist.
func TestATrialOfAnEntryCopiesNoLongList(t *testing.T) {
	network := firewall.Network{Allow: []string{"git:git.example/acme/app read"}}
	for i := range 20000 {
		network.Allow = append(network.Allow, fmt.Sprintf("host%d.example.org", i))
	}
	p, bad := firewall.NewPolicy(network)
	if bad != nil {
		t.Fatal(bad)
	}
	trials := map[string]func() (*firewall.Policy, []firewall.EntryError){
		"allow": func() (*firewall.Policy, []firewall.EntryError) {
			return p.At(firewall.Target{Name: "one.example.net"}).With(firewall.Network{Allow: []string{"one.example.net"}})
		},
		"private": func() (*firewall.Policy, []firewall.EntryError) {
			return p.With(firewall.Network{Private: []string{"host1.example.org"}})
		},
	}
	for name, trial := range trials {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, bad := trial(); bad != nil {
			t.Fatal(bad)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 100_000 {
			t.Errorf("a trial for %s allocates %d bytes of a list of 20,000", name, used)
		}
	}
}
