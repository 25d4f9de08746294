package firewall

import (
	"net/netip"
	"testing"
)

// Attack: an allowed name leads to the machine's host or a neighbour at an address
// of the internet's: an IPv6 network with global addresses, a public IPv4 one.
func TestAttackRebindingToASurroundingAtAGlobalAddress(t *testing.T) {
	base, errs := NewPolicy(Network{Allow: []string{"ok.example", "lan.example", "198.51.7.9"}, Private: []string{"lan.example"}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	p := base.Around([]netip.Prefix{
		netip.MustParsePrefix("2a01:4f8:1:2::1/64"), netip.MustParsePrefix("198.51.7.2/24"), netip.MustParsePrefix("93.184.216.1/32"),
		netip.MustParsePrefix("0.0.0.0/0"),
	})
	for _, addr := range []string{"2a01:4f8:1:2::1", "2a01:4f8:1:2:ffff::9", "198.51.7.1", "93.184.216.1", "2002:c633:701::1",
		"64:ff9b::198.51.7.1"} {
		a := netip.MustParseAddr(addr)
		if d := p.DecideAnswer("ok.example", a); d.Allowed() || d.Rule != RuleAround {
			t.Errorf("%s as an answer: %+v", addr, d)
		}
		if d := p.Decide("ok.example", a, 443, TCP); d.Allowed() {
			t.Errorf("%s as a place: %+v", addr, d)
		}
		if d := p.DecideAnswer("lan.example", a); !d.Allowed() {
			t.Errorf("%s for a name under private: %+v", addr, d)
		}
	}
	for _, addr := range []string{"2a01:4f8:1:3::1", "93.184.216.2", "198.51.7.9"} {
		if d := p.DecideAnswer("ok.example", netip.MustParseAddr(addr)); !d.Allowed() {
			t.Errorf("%s: %+v", addr, d)
		}
	}
	if d := base.DecideAnswer("ok.example", netip.MustParseAddr("198.51.7.1")); !d.Allowed() {
		t.Errorf("Around changed the policy that it was asked of: %+v", d)
	}
}
