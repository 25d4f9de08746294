package main

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

// book knows which names led to which address, so that a new policy can be
// held against the addresses and connections of the old one. Every learned
// address passes through it, and what the policy in force does not allow does
// not pass: an answer that was judged under the old policy cannot open
// anything under the new one. Safe for concurrent use.
type book struct {
	open   func(netip.Addr, []firewall.Port, time.Duration) error // kernel.ErrFull makes room
	forget func(netip.Addr, []firewall.Port) error
	now    func() time.Time

	mu sync.Mutex
	page
	swept  int             // addresses that the last sweep left
	told   uint64          // of the last lead
	opened []firewall.Port // of the last address: most have the same, and share them
}

// lead is one way from a name to an address. The aliases on the way count: one
// of them may come under "deny" later.
type lead struct {
	names string    // the name that was asked for, then its aliases, by blanks
	until time.Time // when the address is no longer open because of it
	told  uint64    // grows with each time that the packet filter was told of one

	// ports are allowed at the address by the policy of a generation.
	ports      []firewall.Port
	generation int
}

// sweepMin is how many addresses there are at least before a sweep is worth it.
const sweepMin = 1024

func newBook(p *firewall.Policy, open func(netip.Addr, []firewall.Port, time.Duration) error, forget func(netip.Addr, []firewall.Port) error) *book {
	return &book{open: open, forget: forget, now: time.Now, page: page{policy: p, leads: map[netip.Addr][]lead{}}}
}

// Allow is resolver.Installer's.
func (b *book) Allow(names []string, addr netip.Addr, ports []firewall.Port, timeout time.Duration) error {
	l := lead{names: strings.Join(names, " ")}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(ports) == 0 && b.policy.Mode() == firewall.ModeAudit && l.resolvable(b.policy, addr) {
		// The packet filter lets the internet out. The lead is for a policy
		// that names this name later.
		l.until = b.now().Add(timeout)
		b.note(addr, l)
		return nil
	}
	l.generation = b.generation
	if name, ok := l.named(b.policy); ok {
		for _, port := range ports {
			if b.policy.Decide(name, addr, port.Number, port.Proto).Allowed() {
				l.ports = append(l.ports, port)
			}
		}
	}
	if len(l.ports) == 0 {
		return fmt.Errorf("the policy does not allow %s at %s, or no longer", names[0], addr)
	}
	if slices.Equal(l.ports, b.opened) {
		l.ports = b.opened
	}
	b.opened = l.ports
	err := b.open(addr, l.ports, timeout)
	if errors.Is(err, kernel.ErrFull) && b.makeRoom(addr) {
		err = b.open(addr, l.ports, timeout)
	}
	if err != nil {
		return err
	}
	// The set counts whole seconds, so it may hold the address for one more.
	l.until = b.now().Add(timeout + 2*time.Second)
	b.told++
	l.told = b.told
	b.note(addr, l)
	return nil
}

// roomMade is how many addresses are let go at once where the set is full. They
// cost some 20 µs each, and finding them some ms, while answers wait.
const roomMade = 512

// makeRoom closes the addresses of addr's family that no answer has named for
// the longest time, and reports whether it closed any. That opens nothing:
// connections go on, and who asks for a name of theirs again has its address
// opened again. Their time to live says nothing here: what was answered just now
// may have the shortest. The leads stay until the next sweep, because
// connections may need them.
func (b *book) makeRoom(addr netip.Addr) bool {
	type open struct {
		addr netip.Addr
		told uint64
	}
	var all []open
	now := b.now()
	for a, leads := range b.leads {
		last := uint64(0)
		for _, l := range leads {
			if l.until.After(now) {
				last = max(last, l.told)
			}
		}
		if last > 0 && a != addr && a.Is4() == addr.Is4() {
			all = append(all, open{a, last})
		}
	}
	slices.SortFunc(all, func(x, y open) int { return cmp.Compare(x.told, y.told) })
	made := false
	for _, o := range all[:min(len(all), roomMade)] {
		for i, l := range b.leads[o.addr] {
			for _, port := range l.ports {
				if b.forget(o.addr, []firewall.Port{port}) == nil { // it errs for what another lead had open as well
					made = true
				}
			}
			b.leads[o.addr][i].until = now
		}
	}
	return made
}

// note remembers a lead to addr, in the place of an earlier one by the same names.
func (b *book) note(addr netip.Addr, l lead) {
	leads := b.leads[addr]
	for i := range leads {
		if leads[i].names == l.names {
			leads[i] = l
			return
		}
	}
	b.leads[addr] = append(leads, l)
}

func (l lead) allowed(p *firewall.Policy, addr netip.Addr, port firewall.Port) bool {
	name, ok := l.named(p)
	return ok && p.Decide(name, addr, port.Number, port.Proto).Allowed()
}

// resolvable reports whether the name may lead to the address, whatever port is
// open there.
func (l lead) resolvable(p *firewall.Policy, addr netip.Addr) bool {
	name, ok := l.named(p)
	return ok && p.DecideName(name).Allowed() && p.DecideAnswer(name, addr).Allowed()
}

// named returns the name that was asked for, and whether it may have its aliases.
func (l lead) named(p *firewall.Policy) (name string, ok bool) {
	names := strings.Fields(l.names)
	for _, alias := range names[1:] {
		if !p.DecideAlias(names[0], alias).Allowed() {
			return names[0], false
		}
	}
	return names[0], true
}

// setPolicy makes p judge from now on.
func (b *book) setPolicy(p *firewall.Policy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.policy = p
	b.generation++
}

// page is what the book says at one time.
type page struct {
	policy     *firewall.Policy
	generation int // grows with each policy
	leads      map[netip.Addr][]lead
}

// read calls f with the book's page. No address is opened meanwhile, so every
// address and connection that f finds in the kernel is on the page.
func (b *book) read(f func(page) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return f(b.page)
}

// opens is page's, at this moment.
func (b *book) opens(addr netip.Addr, port firewall.Port) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.page.opens(addr, port)
}

// connects reports whether the policy allows a connection to addr, by address
// or by any name that ever led there.
func (p page) connects(addr netip.Addr, port firewall.Port) bool {
	return p.policy.Decide("", addr, port.Number, port.Proto).Allowed() || p.opens(addr, port)
}

// opens reports whether the policy allows new connections to addr because of a
// name that led there.
func (p page) opens(addr netip.Addr, port firewall.Port) bool {
	return slices.ContainsFunc(p.leads[addr], func(l lead) bool {
		if l.generation == p.generation && slices.Contains(l.ports, port) {
			return true // as it was said before
		}
		return l.allowed(p.policy, addr, port)
	})
}

// full reports whether a sweep is due: when there are twice as many addresses
// as after the last one, and the time of one of them is over.
func (b *book) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.leads) <= max(2*b.swept, sweepMin) {
		return false
	}
	now := b.now()
	for _, leads := range b.leads {
		if slices.ContainsFunc(leads, func(l lead) bool { return now.After(l.until) }) {
			return true
		}
	}
	b.swept = len(b.leads)
	return false
}

// sweep forgets the leads whose time is over, but for addresses in use: a
// connection outlives the address's time, and a new policy must still know
// which name it belongs to.
func (b *book) sweep(flows []kernel.Flow) {
	used := map[netip.Addr]bool{}
	for _, f := range flows {
		used[f.Real.Addr()] = true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for addr, leads := range b.leads {
		if used[addr] {
			continue
		}
		leads = slices.DeleteFunc(leads, func(l lead) bool { return now.After(l.until) })
		if b.leads[addr] = leads; len(leads) == 0 {
			delete(b.leads, addr)
		}
	}
	b.swept = len(b.leads)
}
