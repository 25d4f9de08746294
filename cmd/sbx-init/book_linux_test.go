package main

import (
	"net/netip"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/kernel"
)

var (
	addrA = netip.MustParseAddr("93.184.216.1")
	addrB = netip.MustParseAddr("93.184.216.2")
	https = firewall.Port{Number: 443, Proto: firewall.TCP}
)

func mustPolicy(t *testing.T, n firewall.Network) *firewall.Policy {
	t.Helper()
	p, errs := firewall.NewPolicy(n)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return p
}

// An answer that was judged under the old policy is under way while the new
// one comes: it must not open anything.
func TestAttackAnswerThatCrossesAReload(t *testing.T) {
	opened := map[netip.Addr]int{}
	b := newBook(mustPolicy(t, firewall.Network{Allow: []string{"a.test", "b.test"}}), func(a netip.Addr, _ []firewall.Port, _ time.Duration) error {
		opened[a]++
		return nil
	})
	ports := []firewall.Port{https}
	if err := b.Allow([]string{"a.test"}, addrA, ports, time.Minute); err != nil || opened[addrA] != 1 {
		t.Fatalf("%v, opened %v", err, opened)
	}
	b.setPolicy(mustPolicy(t, firewall.Network{Allow: []string{"b.test"}}))
	if err := b.Allow([]string{"a.test"}, addrA, ports, time.Minute); err == nil || opened[addrA] != 1 {
		t.Errorf("%v, opened %v: the answer opened an address for a name that is no longer allowed", err, opened)
	}
	if err := b.Allow([]string{"b.test"}, addrB, []firewall.Port{https, {Number: 22, Proto: firewall.TCP}}, time.Minute); err != nil || opened[addrB] != 1 {
		t.Errorf("%v, opened %v: an allowed name is not opened", err, opened)
	}
}

func TestConnectionsAreJudgedByEveryNameThatLedThere(t *testing.T) {
	b := newBook(mustPolicy(t, firewall.Network{Allow: []string{"a.test", "b.test"}}), func(netip.Addr, []firewall.Port, time.Duration) error { return nil })
	for _, names := range [][]string{{"a.test"}, {"b.test", "cdn.test", "edge.test"}} {
		if err := b.Allow(names, addrA, []firewall.Port{https}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		why     string
		network firewall.Network
		want    bool
	}{
		{"both names", firewall.Network{Allow: []string{"a.test", "b.test"}}, true},
		{"one name", firewall.Network{Allow: []string{"b.test"}}, true},
		{"an alias is denied", firewall.Network{Allow: []string{"b.test"}, Deny: []string{"edge.test"}}, false},
		{"an alias of another name is denied", firewall.Network{Allow: []string{"a.test", "b.test"}, Deny: []string{"edge.test"}}, true},
		{"no name", firewall.Network{Allow: []string{"c.test"}}, false},
		{"another port", firewall.Network{Allow: []string{"a.test:22"}}, false},
		{"the address", firewall.Network{Allow: []string{addrA.String()}}, true},
		{"the address is denied", firewall.Network{Allow: []string{"a.test"}, Deny: []string{addrA.String()}}, false},
		{"mode none", firewall.Network{Mode: firewall.ModeNone, Allow: []string{"a.test"}}, false},
	} {
		b.setPolicy(mustPolicy(t, tt.network))
		_ = b.read(func(p page) error {
			if got := p.connects(addrA, https); got != tt.want {
				t.Errorf("%s: %v, want %v", tt.why, got, tt.want)
			}
			return nil
		})
	}
}

func TestBookForgetsWhatIsOverAndNotInUse(t *testing.T) {
	b := newBook(mustPolicy(t, firewall.Network{Allow: []string{"*.test.example"}}), func(netip.Addr, []firewall.Port, time.Duration) error { return nil })
	now := time.Now()
	b.now = func() time.Time { return now }
	for _, addr := range []netip.Addr{addrA, addrB} {
		if err := b.Allow([]string{"x.test.example"}, addr, []firewall.Port{https}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	flows := []kernel.Flow{{Real: netip.AddrPortFrom(addrB, 443)}}
	b.sweep(flows)
	if len(b.leads) != 2 {
		t.Fatalf("%d leads before their time is over, want 2", len(b.leads))
	}
	now = now.Add(2 * time.Minute)
	b.sweep(flows)
	_ = b.read(func(p page) error {
		if p.opens(addrA, https) || !p.opens(addrB, https) {
			t.Error("want the address in use alone to be known")
		}
		return nil
	})
}
