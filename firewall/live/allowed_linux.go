package live

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/kernel"
)

// allowedSet knows which names led to which address, so that a new policy can be
// compared with the addresses and connections of the old one. Every learned
// address passes through it, and an address that the policy in force does not
// allow does not pass: an answer that was judged under the old policy cannot open
// anything under the new one. It is safe for concurrent use.
type allowedSet struct {
	open   func(netip.Addr, []firewall.Port, time.Duration) error // kernel.ErrFull makes room
	forget func(netip.Addr, []firewall.Port) error
	now    func() time.Time

	mu sync.Mutex
	snapshot
	addrs  map[string][]netip.Addr // the addresses of grants, by the name that was asked for
	count  int                     // of grants
	swept  int                     // grants that the last sweep left
	order  uint64                  // of the last grant
	opened []firewall.Port         // of the last address: most have the same, and share them
}

// grant is one way from a name to an address. The aliases on the way count: one
// of them may come under "deny" later.
type grant struct {
	names string    // the name that was asked for, then its aliases, by blanks
	until time.Time // when the address is no longer open because of it
	order uint64    // grows with each one that was given to the packet filter

	// ports are allowed at the address by the policy of a generation.
	ports      []firewall.Port
	generation int
}

// sweepMin is how many grants there are at least before a sweep is worth it.
const sweepMin = 1024

// newAllowedSet judges by p, and opens and closes addresses of the packet filter
// by open and forget.
func newAllowedSet(
	p *firewall.Policy, open func(netip.Addr, []firewall.Port, time.Duration) error, forget func(netip.Addr, []firewall.Port) error,
) *allowedSet {
	return &allowedSet{open: open, forget: forget, now: time.Now, addrs: map[string][]netip.Addr{},
		snapshot: snapshot{policy: p, grants: map[netip.Addr][]grant{}}}
}

// Allow is resolver.Installer's.
func (s *allowedSet) Allow(names []string, addr netip.Addr, ports []firewall.Port, timeout time.Duration) error {
	g := grant{names: strings.Join(names, " ")}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(ports) == 0 && s.policy.Mode() == firewall.ModeAudit && g.resolvable(s.policy, addr) {
		// The packet filter lets the internet out. The grant is for a policy
		// that names this name later.
		g.until = s.now().Add(timeout)
		s.note(addr, g)
		return nil
	}
	g.generation = s.generation
	if name, ok := g.named(s.policy); ok {
		for _, port := range ports {
			if s.policy.Decide(name, addr, port.Number, port.Proto).Allowed() {
				g.ports = append(g.ports, port)
			}
		}
	}
	if len(g.ports) == 0 {
		return fmt.Errorf("the policy does not allow %s at %s, or no longer", names[0], addr)
	}
	if slices.Equal(g.ports, s.opened) {
		g.ports = s.opened
	}
	s.opened = g.ports
	err := s.open(addr, g.ports, timeout)
	if errors.Is(err, kernel.ErrFull) && s.makeRoom(addr) {
		err = s.open(addr, g.ports, timeout)
	}
	if err != nil {
		return err
	}
	// The set counts whole seconds, so it may hold the address for one more.
	g.until = s.now().Add(timeout + 2*time.Second)
	s.order++
	g.order = s.order
	s.note(addr, g)
	return nil
}

// roomMade is how many addresses are let go at once where the set is full. They
// cost some 20 µs each, and finding them some ms, while answers wait.
const roomMade = 512

// makeRoom closes the addresses of addr's family that no answer has named for
// the longest time, and reports whether it closed any. That opens nothing:
// connections go on, and the next question for one of their names opens its
// address again. Their time to live says nothing here: the answer of this moment
// may have the shortest. The grants stay until the next sweep, because
// connections may need them.
func (s *allowedSet) makeRoom(addr netip.Addr) bool {
	type open struct {
		addr  netip.Addr
		order uint64
	}
	var all []open
	now := s.now()
	for a, grants := range s.grants {
		last := uint64(0)
		for _, g := range grants {
			if g.until.After(now) {
				last = max(last, g.order)
			}
		}
		if last > 0 && a != addr && a.Is4() == addr.Is4() {
			all = append(all, open{a, last})
		}
	}
	slices.SortFunc(all, func(x, y open) int { return cmp.Compare(x.order, y.order) })
	made := false
	for _, o := range all[:min(len(all), roomMade)] {
		for i, g := range s.grants[o.addr] {
			for _, port := range g.ports {
				if s.forget(o.addr, []firewall.Port{port}) == nil { // it errs for a port that another grant had open as well
					made = true
				}
			}
			s.grants[o.addr][i].until = now
		}
	}
	return made
}

// note remembers a grant at addr as the last one, in the place of an earlier one by the
// same names.
func (s *allowedSet) note(addr netip.Addr, g grant) {
	before := len(s.grants[addr])
	others := slices.DeleteFunc(s.grants[addr], func(old grant) bool { return old.names == g.names })
	s.grants[addr] = append(others, g)
	s.count += len(others) + 1 - before
	s.index(addr, g)
}

// index makes an address found by the name of a grant at it.
func (s *allowedSet) index(addr netip.Addr, g grant) {
	if name := g.asked(); !slices.Contains(s.addrs[name], addr) {
		s.addrs[name] = append(s.addrs[name], addr)
	}
}

// each calls do for every grant of a name whose time is not over.
func (s *allowedSet) each(name string, do func(netip.Addr, grant)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, addr := range s.addrs[name] {
		for _, g := range s.grants[addr] {
			if g.asked() == name && g.until.After(now) {
				do(addr, g)
			}
		}
	}
}

// Known is resolver.Installer's.
func (s *allowedSet) Known(name string) (addrs []netip.Addr) {
	s.each(name, func(addr netip.Addr, g grant) {
		if _, ok := g.named(s.policy); ok && !slices.Contains(addrs, addr) {
			addrs = append(addrs, addr)
		}
	})
	return addrs
}

// Aliases is guard.Names'.
func (s *allowedSet) Aliases(name string) (aliases []string) {
	s.each(name, func(_ netip.Addr, g grant) {
		for _, alias := range strings.Fields(g.names)[1:] {
			if !slices.Contains(aliases, alias) {
				aliases = append(aliases, alias)
			}
		}
	})
	return aliases
}

// NamesAt is guard.Names'.
func (s *allowedSet) NamesAt(addr netip.Addr) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, g := range s.grants[addr] {
		if name := g.asked(); g.until.After(now) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// nameAt returns the name for which an address was last given out, also when its time is
// over: that is when a record must say why it is closed. It is "" when none is known.
func (s *allowedSet) nameAt(addr netip.Addr) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	grants := s.grants[addr]
	if len(grants) == 0 {
		return ""
	}
	return grants[len(grants)-1].asked()
}

// asked returns the name that was asked for.
func (g grant) asked() string {
	name, _, _ := strings.Cut(g.names, " ")
	return name
}

func (g grant) allowed(p *firewall.Policy, addr netip.Addr, port firewall.Port) bool {
	name, ok := g.named(p)
	return ok && p.Decide(name, addr, port.Number, port.Proto).Allowed()
}

// resolvable reports whether the name may lead to the address, whatever port is
// open there.
func (g grant) resolvable(p *firewall.Policy, addr netip.Addr) bool {
	name, ok := g.named(p)
	return ok && p.DecideName(name).Allowed() && p.DecideAnswer(name, addr).Allowed()
}

// named returns the name that was asked for, and whether it may have its aliases.
func (g grant) named(p *firewall.Policy) (name string, ok bool) {
	names := strings.Fields(g.names)
	for _, alias := range names[1:] {
		if !p.DecideAlias(names[0], alias).Allowed() {
			return names[0], false
		}
	}
	return names[0], true
}

// setPolicy makes p judge from now on.
func (s *allowedSet) setPolicy(p *firewall.Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policy = p
	s.generation++
}

// snapshot is the allowed set at one time.
type snapshot struct {
	policy     *firewall.Policy
	generation int // grows with each policy
	grants     map[netip.Addr][]grant
}

// read calls f with the set. No address is opened meanwhile, so every address and
// connection that f finds in the kernel is in it.
func (s *allowedSet) read(f func(snapshot) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(s.snapshot)
}

// opens is snapshot's, at this moment.
func (s *allowedSet) opens(addr netip.Addr, port firewall.Port) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot.opens(addr, port)
}

// connects reports whether the policy allows a connection to addr, by address
// or by any name that ever led there.
func (s snapshot) connects(addr netip.Addr, port firewall.Port) bool {
	return s.policy.Decide("", addr, port.Number, port.Proto).Allowed() || s.opens(addr, port)
}

// opens reports whether the policy allows new connections to addr because of a
// name that led there.
func (s snapshot) opens(addr netip.Addr, port firewall.Port) bool {
	return slices.ContainsFunc(s.grants[addr], func(g grant) bool {
		if g.generation == s.generation && slices.Contains(g.ports, port) {
			return true // as it was said before
		}
		return g.allowed(s.policy, addr, port)
	})
}

// full reports whether a sweep is due: when there are twice as many grants as
// after the last one, and the time of one of them is over.
func (s *allowedSet) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count <= max(2*s.swept, sweepMin) {
		return false
	}
	now := s.now()
	for _, grants := range s.grants {
		if slices.ContainsFunc(grants, func(g grant) bool { return now.After(g.until) }) {
			return true
		}
	}
	s.swept = s.count
	return false
}

// sweep forgets the grants whose time is over, but for addresses in use: a
// connection outlives the address's time, and a new policy must still know
// which name it belongs to.
func (s *allowedSet) sweep(flows []kernel.Flow) {
	used := map[netip.Addr]bool{}
	for _, f := range flows {
		used[f.Real.Addr()] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	clear(s.addrs)
	s.count = 0
	for addr, grants := range s.grants {
		if !used[addr] {
			grants = slices.DeleteFunc(grants, func(g grant) bool { return now.After(g.until) })
		}
		if s.grants[addr] = grants; len(grants) == 0 {
			delete(s.grants, addr)
		}
		for _, g := range grants {
			s.index(addr, g)
		}
		s.count += len(grants)
	}
	s.swept = s.count
}

// inForce returns the policy that judges now.
func (s *allowedSet) inForce() *firewall.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.policy
}
