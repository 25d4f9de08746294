package live

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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
	set := newAllowedSet(mustPolicy(t, firewall.Network{Allow: []string{"a.test", "b.test"}}),
		func(a netip.Addr, _ []firewall.Port, _ time.Duration) error {
			opened[a]++
			return nil
		}, nil)
	ports := []firewall.Port{https}
	if err := set.Allow([]string{"a.test"}, addrA, ports, time.Minute); err != nil || opened[addrA] != 1 {
		t.Fatalf("%v, opened %v", err, opened)
	}
	set.setPolicy(mustPolicy(t, firewall.Network{Allow: []string{"b.test"}}))
	if err := set.Allow([]string{"a.test"}, addrA, ports, time.Minute); err == nil || opened[addrA] != 1 {
		t.Errorf("%v, opened %v: the answer opened an address for a name that is no longer allowed", err, opened)
	}
	if err := set.Allow([]string{"b.test"}, addrB, []firewall.Port{https, {Number: 22, Proto: firewall.TCP}}, time.Minute); err != nil ||
		opened[addrB] != 1 {
		t.Errorf("%v, opened %v: an allowed name is not opened", err, opened)
	}
}

func TestConnectionsAreJudgedByEveryNameThatLedThere(t *testing.T) {
	set := newAllowedSet(mustPolicy(t, firewall.Network{Allow: []string{"a.test", "b.test"}}),
		func(netip.Addr, []firewall.Port, time.Duration) error { return nil }, nil)
	for _, names := range [][]string{{"a.test"}, {"b.test", "cdn.test", "edge.test"}} {
		if err := set.Allow(names, addrA, []firewall.Port{https}, time.Minute); err != nil {
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
		set.setPolicy(mustPolicy(t, tt.network))
		_ = set.read(func(s snapshot) error {
			if got := s.connects(addrA, https); got != tt.want {
				t.Errorf("%s: %v, want %v", tt.why, got, tt.want)
			}
			return nil
		})
	}
}

func TestAllowedSetForgetsWhatIsOverAndNotInUse(t *testing.T) {
	set := newAllowedSet(mustPolicy(t, firewall.Network{Allow: []string{"*.test.example"}}),
		func(netip.Addr, []firewall.Port, time.Duration) error { return nil }, nil)
	now := time.Now()
	set.now = func() time.Time { return now }
	for _, addr := range []netip.Addr{addrA, addrB} {
		if err := set.Allow([]string{"x.test.example"}, addr, []firewall.Port{https}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	flows := []kernel.Flow{{Real: netip.AddrPortFrom(addrB, 443)}}
	set.sweep(flows)
	if len(set.grants) != 2 {
		t.Fatalf("%d grants before their time is over, want 2", len(set.grants))
	}
	now = now.Add(2 * time.Minute)
	set.sweep(flows)
	_ = set.read(func(s snapshot) error {
		if s.opens(addrA, https) || !s.opens(addrB, https) {
			t.Error("want the address in use alone to be known")
		}
		return nil
	})
}

// The guard asks for the addresses of a name that was resolved when the policy
// still allowed what it is an alias of, and that another name has as well.
func TestAttackAliasThatAReloadDenies(t *testing.T) {
	both := firewall.Network{Allow: []string{"a.test", "b.test"}}
	set := newAllowedSet(mustPolicy(t, both), func(netip.Addr, []firewall.Port, time.Duration) error { return nil }, nil)
	for _, names := range [][]string{{"a.test", "cdn.test"}, {"b.test"}} {
		if err := set.Allow(names, addrA, []firewall.Port{https}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.test", "b.test"} {
		if got := set.Known(name); !slices.Equal(got, []netip.Addr{addrA}) {
			t.Errorf("%s has %v", name, got)
		}
	}
	if got := set.Aliases("a.test"); !slices.Equal(got, []string{"cdn.test"}) {
		t.Errorf("aliases %q", got)
	}
	if got := set.NamesAt(addrA); !slices.Equal(got, []string{"a.test", "b.test"}) {
		t.Errorf("names %q", got)
	}
	both.Deny = []string{"cdn.test"}
	set.setPolicy(mustPolicy(t, both))
	if got := set.Known("a.test"); len(got) != 0 {
		t.Errorf("an alias of a denied name has %v", got)
	}
	if got := set.Known("b.test"); !slices.Equal(got, []netip.Addr{addrA}) {
		t.Errorf("the other name has %v", got)
	}
}

func TestAddressesOfANameAreForgotten(t *testing.T) {
	set := newAllowedSet(mustPolicy(t, firewall.Network{Allow: []string{"*.test.example"}}),
		func(netip.Addr, []firewall.Port, time.Duration) error { return nil }, nil)
	now := time.Now()
	set.now = func() time.Time { return now }
	allow := func(name string, addr netip.Addr) {
		if err := set.Allow([]string{name}, addr, []firewall.Port{https}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	const name = "x.test.example"
	allow(name, addrA)
	now = now.Add(40 * time.Second)
	allow(name, addrB)
	if got := set.Known(name); len(got) != 2 {
		t.Errorf("both are known: %v", got)
	}
	now = now.Add(40 * time.Second)
	if got := set.Known(name); !slices.Equal(got, []netip.Addr{addrB}) {
		t.Errorf("the first has run out: %v", got)
	}
	if got := set.NamesAt(addrA); len(got) != 0 {
		t.Errorf("an address that is over is that of %q", got)
	}
	if got := set.nameAt(addrA); got != name {
		t.Errorf("a record about it names %q", got)
	}
	// Attack: names without end that all lead to one address.
	for i := range 2 * sweepMin {
		allow(fmt.Sprintf("%d.test.example", i), addrA)
	}
	if now = now.Add(2 * time.Minute); !set.full() {
		t.Fatal("names that are over are kept")
	}
	set.sweep(nil)
	if len(set.addrs) != 0 || len(set.grants) != 0 || set.full() {
		t.Errorf("%d names at %d addresses are left", len(set.addrs), len(set.grants))
	}
}

// Attack: a connection is kept open, and names without end under a wildcard lead to its
// address. The names that decide about connections stay, also where one is the oldest.
func TestAttackNamesAtAnAddressInUse(t *testing.T) {
	const most = 3 * overKept // two ports in use, and none of them
	ssh := firewall.Port{Number: 22, Proto: firewall.TCP}
	both := firewall.Network{Allow: []string{"old.test:22", "*.test.example:443", "*.gone.example:443"}}
	set := newAllowedSet(mustPolicy(t, both), func(netip.Addr, []firewall.Port, time.Duration) error { return nil }, nil)
	now := time.Now()
	set.now = func() time.Time { return now }
	flows := []kernel.Flow{
		{Proto: unix.IPPROTO_TCP, Real: netip.AddrPortFrom(addrA, 443)}, {Proto: unix.IPPROTO_TCP, Real: netip.AddrPortFrom(addrA, 22)},
	}
	allow := func(name string) {
		t.Helper()
		if err := set.Allow([]string{name}, addrA, []firewall.Port{https, ssh}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	allow("old.test")
	for minute := range 50 {
		for i := range 60 {
			allow(fmt.Sprintf("%d.%d.test.example", minute, i))
			allow(fmt.Sprintf("%d.%d.gone.example", minute, i))
		}
		live := len(set.grants[addrA])
		set.sweep(flows)
		if len(set.NamesAt(addrA)) < 120 {
			t.Fatalf("of %d grants %d live names are left: a name whose time is not over is forgotten", live, len(set.NamesAt(addrA)))
		}
		now = now.Add(2 * time.Minute)
		set.sweep(flows)
		if n := len(set.grants[addrA]); n > most || set.count != n {
			t.Fatalf("%d grants are kept at one address, and %d counted", n, set.count)
		}
	}
	connects := func(port firewall.Port, want bool) {
		t.Helper()
		_ = set.read(func(s snapshot) error {
			if s.connects(addrA, port) != want {
				t.Errorf("a connection to port %d is allowed: %v, want %v", port.Number, !want, want)
			}
			return nil
		})
	}
	connects(https, true)
	connects(ssh, true)
	// A new policy takes the newest names away: the oldest decides for port 22 as before.
	set.setPolicy(mustPolicy(t, firewall.Network{Allow: []string{"old.test:22"}}))
	set.sweep(flows)
	connects(https, false)
	connects(ssh, true)
}

// A set that is full of live addresses takes the next ones: those that nobody
// has asked for the longest time go, until somebody asks again.
func TestAFullSetMakesRoom(t *testing.T) {
	const limit = 2000
	open := map[netip.Addr]bool{}
	set := newAllowedSet(mustPolicy(t, firewall.Network{Allow: []string{"*.test.example"}}),
		func(a netip.Addr, _ []firewall.Port, _ time.Duration) error {
			if !open[a] && len(open) == limit {
				return fmt.Errorf("allowing: %w", kernel.ErrFull)
			}
			open[a] = true
			return nil
		}, func(a netip.Addr, _ []firewall.Port) error {
			if !open[a] {
				return errors.New("not there")
			}
			delete(open, a)
			return nil
		})
	address := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{93, 184, byte(i >> 8), byte(i)}) }
	six := netip.MustParseAddr("2600::1")
	allow := func(a netip.Addr, timeout time.Duration) {
		t.Helper()
		if err := set.Allow([]string{"x.test.example"}, a, []firewall.Port{https}, timeout); err != nil {
			t.Fatal(err)
		}
	}
	allow(six, time.Hour) // which is in a set of its own
	delete(open, six)
	for i := range limit {
		allow(address(i), time.Hour)
	}
	allow(address(0), time.Minute) // is asked for again
	allow(address(limit), time.Minute)
	for i := range limit + 1 {
		if want := i == 0 || i > roomMade; open[address(i)] != want {
			t.Fatalf("address %d open: %v", i, !want)
		}
	}
	if grants := set.grants[six]; len(grants) != 1 || time.Until(grants[0].until) < time.Minute {
		t.Error("an address of the other family was let go")
	}
	_ = set.read(func(s snapshot) error {
		if !s.connects(address(1), https) {
			t.Error("a connection to an address that was let go has no name any more")
		}
		return nil
	})
	allow(address(1), time.Minute) // its name is asked for again
	if !open[address(1)] {
		t.Error("an address that was let go is not opened again")
	}

	// Where nothing can be let go the error says so.
	set.forget = func(netip.Addr, []firewall.Port) error { return errors.New("broken") }
	for i := range limit {
		if err := set.Allow([]string{"x.test.example"}, address(10000+i), []firewall.Port{https}, time.Hour); err != nil {
			if !errors.Is(err, kernel.ErrFull) {
				t.Error(err)
			}
			return
		}
	}
	t.Error("a set that is full takes more")
}
