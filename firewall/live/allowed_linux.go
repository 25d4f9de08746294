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

	"golang.org/x/sys/unix"

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
	return slices.ContainsFunc(s.grants[addr], func(g grant) bool { return s.grantOpens(g, addr, port) })
}

// grantOpens reports whether the policy allows new connections to addr because of g.
func (s snapshot) grantOpens(g grant, addr netip.Addr, port firewall.Port) bool {
	if g.generation == s.generation && slices.Contains(g.ports, port) {
		return true // as it was said before
	}
	return g.allowed(s.policy, addr, port)
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

// overKept is how many names at an address in use are kept for each port in use, and as
// many that lead to none of these ports. Names under a wildcard have no end.
const overKept = 64

// sweep forgets the grants whose time is over, but for addresses in use: a
// connection outlives the address's time, and a new policy must still know
// which name it belongs to. The newest of these stay.
func (s *allowedSet) sweep(flows []kernel.Flow) {
	used := map[netip.Addr][]firewall.Port{}
	for _, f := range flows {
		port := firewall.Port{Number: f.Real.Port(), Proto: firewall.TCP}
		if f.Proto == unix.IPPROTO_UDP {
			port.Proto = firewall.UDP
		}
		if at := used[f.Real.Addr()]; !slices.Contains(at, port) {
			used[f.Real.Addr()] = append(at, port)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.addrs)
	s.count = 0
	for addr, grants := range s.grants {
		grants = s.kept(addr, grants, used[addr])
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

// kept returns those of the grants at addr, the newest last, whose time is not over, and
// the newest of the others for which a connection to a port of inUse may have been made.
// A port that a grant opens keeps one that does, so the policy in force decides about
// every connection as before.
func (s *allowedSet) kept(addr netip.Addr, grants []grant, inUse []firewall.Port) []grant {
	now := s.now()
	names := make([]int, len(inUse)+1) // that are kept for each port, and for none of them
	forget := make([]bool, len(grants))
	for i, g := range slices.Backward(grants) {
		forget[i] = now.After(g.until)
		leads := false
		for n, port := range inUse {
			if s.snapshot.grantOpens(g, addr, port) {
				leads = true
				forget[i] = forget[i] && names[n] >= overKept
				names[n]++
			}
		}
		if !leads && len(inUse) > 0 {
			last := len(inUse)
			forget[i] = forget[i] && names[last] >= overKept
			names[last]++
		}
	}
	i := -1
	return slices.DeleteFunc(grants, func(grant) bool { i++; return forget[i] })
}

// inForce returns the policy that judges now.
func (s *allowedSet) inForce() *firewall.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.policy
}
