package firewall_test

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/org/claude-sandbox/firewall"
)

// A policy that got entries by With decides as one that was made of all of them,
// and the one that it was made from decides as before.
func TestWithAddsAndChangesNothingElse(t *testing.T) {
	names := []string{"a.example", "*.a.example", "b.a.example", "b.a.example:22", "*.b.a.example:8443", "192.0.2.0/24:443",
		"192.0.2.7", "[2001:db8::/32]:443"}
	hosts := []string{"a.example", "b.a.example", "c.b.a.example", "x.example"}
	addrs := []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("192.0.2.8"), netip.MustParseAddr("2001:db8::1"),
		netip.MustParseAddr("10.0.0.1")}
	random := rand.New(rand.NewPCG(1, 2))
	some := func(from []string) (out []string) {
		for _, s := range from {
			if random.IntN(3) == 0 {
				out = append(out, s)
			}
		}
		return out
	}
	network := func() firewall.Network {
		return firewall.Network{Presets: some([]string{"npm", "github"}), Allow: some(names), Deny: some(names), Private: some(hosts)}
	}
	decisions := func(p *firewall.Policy) (out []bool) {
		for _, port := range []uint16{22, 443, 8443} {
			for _, host := range append(hosts, "github.com") {
				out = append(out, p.Decide(host, netip.Addr{}, port, firewall.TCP).Allowed())
			}
			for _, addr := range addrs {
				out = append(out, p.Decide("", addr, port, firewall.TCP).Allowed())
			}
		}
		for _, host := range hosts {
			out = append(out, p.DecideAnswer(host, addrs[3]).Allowed())
		}
		return out
	}
	for range 2000 {
		first, more := network(), network()
		base, bad := firewall.NewPolicy(first)
		if bad != nil {
			t.Fatal(bad)
		}
		before := decisions(base)
		wider, bad := base.With(more)
		if bad != nil {
			t.Fatal(bad)
		}
		other, bad := base.With(network()) // two of one must not share what they add
		if bad != nil {
			t.Fatal(bad)
		}
		both := firewall.Network{
			Presets: slices.Concat(first.Presets, more.Presets), Allow: slices.Concat(first.Allow, more.Allow),
			Deny: slices.Concat(first.Deny, more.Deny), Private: slices.Concat(first.Private, more.Private),
		}
		whole, bad := firewall.NewPolicy(both)
		if bad != nil {
			t.Fatal(bad)
		}
		if got, want := decisions(wider), decisions(whole); !slices.Equal(got, want) {
			t.Fatalf("%+v with %+v decides %v, and all of it %v", first, more, got, want)
		}
		if !slices.Equal(decisions(base), before) {
			t.Fatalf("%+v with %+v and %+v is not what it was", first, more, other.Network())
		}
		if !slices.Equal(wider.Network().Allow, both.Allow) || !slices.Equal(base.Network().Allow, first.Allow) {
			t.Fatalf("written as %+v, want %+v", wider.Network(), both)
		}
	}
}

func TestWithRefusesAsNewPolicy(t *testing.T) {
	base, _ := firewall.NewPolicy(firewall.Network{Allow: []string{"a.example"}})
	if p, bad := base.With(firewall.Network{Allow: []string{"b.example", "*"}}); p != nil || len(bad) != 1 || bad[0].Index != 1 ||
		bad[0].List != "allow" {
		t.Errorf("got %v, %v", p, bad)
	}
}

func BenchmarkWith(b *testing.B) {
	p, _ := firewall.NewPolicy(manyHosts())
	for b.Loop() {
		if _, bad := p.With(firewall.Network{Allow: []string{"one.example.net"}}); bad != nil {
			b.Fatal(bad)
		}
	}
}

func TestInModeChangesTheModeAlone(t *testing.T) {
	base, _ := firewall.NewPolicy(firewall.Network{Mode: firewall.ModeAudit, Allow: []string{"a.example"}})
	p := base.InMode(firewall.ModeAllowlist)
	if p.DecideName("b.example").Allowed() || !p.DecideName("a.example").Allowed() || p.Network().Mode != firewall.ModeAllowlist {
		t.Errorf("the new one is %+v", p.Network())
	}
	if base.Mode() != firewall.ModeAudit || base.Network().Mode != firewall.ModeAudit {
		t.Errorf("the old one is %+v", base.Network())
	}
}
