package resolver

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

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

// The guard asks for the addresses of a name that was resolved when the policy
// still allowed what it is an alias of, and that another name has as well.
func TestAttackAliasThatAReloadDenies(t *testing.T) {
	up := newUpstream(t, zone{
		"ok.example. A":    {cname("ok.example.", "cdn.test.", 20), a("cdn.test.", "93.184.216.34", 300)},
		"other.example. A": {a("other.example.", "93.184.216.34", 300)},
	}.script)
	l := newLab(t, firewall.Network{Allow: []string{"ok.example", "other.example"}}, up, nil)
	shared := netip.MustParseAddr("93.184.216.34")
	l.ask(t, "ok.example.", dnsmessage.TypeA)
	l.ask(t, "other.example.", dnsmessage.TypeA)
	if got := l.server.Aliases("ok.example"); !slices.Equal(got, []string{"cdn.test"}) {
		t.Errorf("aliases %q", got)
	}
	next, errs := firewall.NewPolicy(firewall.Network{Allow: []string{"ok.example", "other.example"}, Deny: []string{"cdn.test"}})
	if errs != nil {
		t.Fatal(errs)
	}
	l.server.SetPolicy(next)
	if got := l.server.Addresses(context.Background(), "ok.example", shared); len(got) != 0 {
		t.Errorf("an alias of a denied name has %v", got)
	}
	if got := l.server.Addresses(context.Background(), "other.example", shared); !slices.Equal(got, []netip.Addr{shared}) {
		t.Errorf("the other name has %v", got)
	}
}

func TestResolvedAddressesAreForgotten(t *testing.T) {
	now := time.Unix(1000, 0)
	b := newResolved(func() time.Time { return now })
	one, two := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	b.note("x.test", nil, []netip.Addr{one}, time.Minute)
	now = now.Add(30 * time.Second)
	b.note("x.test", nil, []netip.Addr{two}, time.Minute)
	if got := b.of("x.test", nil); len(got) != 2 {
		t.Errorf("both are known: %v", got)
	}
	now = now.Add(30 * time.Second)
	if got := b.of("x.test", nil); !slices.Equal(got, []netip.Addr{two}) {
		t.Errorf("the first has run out: %v", got)
	}
	for i := range maxResolved + 10 {
		b.note(fmt.Sprintf("%d.test", i), nil, []netip.Addr{one}, time.Hour)
	}
	if len(b.names) > maxResolved {
		t.Errorf("%d names", len(b.names))
	}
}
