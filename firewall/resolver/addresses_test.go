package resolver

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
)

func TestAddressesAsksOnlyForWhatItDoesNotKnow(t *testing.T) {
	up := newUpstream(t, zone{
		"ok.example. A":    {cname("ok.example.", "cdn.test.", 20), a("cdn.test.", "93.184.216.34", 300)},
		"ok.example. AAAA": {aaaa("ok.example.", "2a00:1450:4001::10", 300)},
		"evil.example. A":  {a("evil.example.", "93.184.216.34", 300)},
	}.script)
	l := newLab(t, firewall.Network{Allow: []string{"ok.example"}}, up, nil)
	v4, v6 := netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("2a00:1450:4001::10")
	ask := func(name string, want netip.Addr) []netip.Addr {
		got := l.server.Addresses(context.Background(), name, want)
		slices.SortFunc(got, netip.Addr.Compare)
		return got
	}

	l.ask(t, "ok.example.", dnsmessage.TypeA)
	if got := ask("ok.example", v4); !slices.Equal(got, []netip.Addr{v4}) {
		t.Errorf("known from a client's question: %v", got)
	}
	if n := len(up.received()); n != 1 {
		t.Errorf("%d questions for a known address, want the client's alone", n)
	}
	if got := ask("ok.example", v6); !slices.Equal(got, []netip.Addr{v4, v6}) {
		t.Errorf("asked for the other family: %v", got)
	}
	if n := len(l.installs()); n != 2 {
		t.Errorf("%d addresses installed, want both", n)
	}
	// Another's address is not made this name's by asking for it, and neither
	// is an alias a name of its own.
	if got := ask("ok.example", netip.MustParseAddr("93.184.216.99")); slices.Contains(got, netip.MustParseAddr("93.184.216.99")) {
		t.Errorf("%v", got)
	}
	for _, name := range []string{"evil.example", "cdn.test"} {
		if got := ask(name, v4); len(got) != 0 {
			t.Errorf("%s, which is not allowed, has %v", name, got)
		}
	}
	for _, asked := range up.names(t) {
		if asked == "evil.example. A" || asked == "cdn.test. A" {
			t.Errorf("upstream was asked for %s", asked)
		}
	}
}
