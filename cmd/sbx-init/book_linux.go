package main

import (
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
	open func(netip.Addr, []firewall.Port, time.Duration) error
	now  func() time.Time

	mu     sync.Mutex
	policy *firewall.Policy
	leads  map[lead]time.Time // until when the address is open because of it
	swept  int                // leads that the last sweep left
}

// lead is one way from a name to an address. The aliases on the way count: one
// of them may come under "deny" later.
type lead struct {
	addr  netip.Addr
	names string // the name that was asked for, then its aliases, by blanks
}

// sweepMin is how many leads there are at least before a sweep is worth it.
const sweepMin = 1024

func newBook(p *firewall.Policy, open func(netip.Addr, []firewall.Port, time.Duration) error) *book {
	return &book{open: open, now: time.Now, policy: p, leads: map[lead]time.Time{}}
}

// Allow is resolver.Installer's.
func (b *book) Allow(names []string, addr netip.Addr, ports []firewall.Port, timeout time.Duration) error {
	l := lead{addr, strings.Join(names, " ")}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(ports) == 0 && b.policy.Mode() == firewall.ModeAudit && l.resolvable(b.policy) {
		// The packet filter lets the internet out. The lead is for a policy
		// that names this name later.
		b.leads[l] = b.now().Add(timeout)
		return nil
	}
	open := make([]firewall.Port, 0, len(ports))
	for _, port := range ports {
		if l.allowed(b.policy, port) {
			open = append(open, port)
		}
	}
	if len(open) == 0 {
		return fmt.Errorf("the policy does not allow %s at %s, or no longer", names[0], addr)
	}
	if err := b.open(addr, open, timeout); err != nil {
		return err
	}
	// The set counts whole seconds, so it may hold the address for one more.
	b.leads[l] = b.now().Add(timeout + 2*time.Second)
	return nil
}

func (l lead) allowed(p *firewall.Policy, port firewall.Port) bool {
	name, ok := l.named(p)
	return ok && p.Decide(name, l.addr, port.Number, port.Proto).Allowed()
}

// resolvable reports whether the name may lead to the address, whatever port is
// open there.
func (l lead) resolvable(p *firewall.Policy) bool {
	name, ok := l.named(p)
	return ok && p.DecideName(name).Allowed() && p.DecideAnswer(name, l.addr).Allowed()
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
}

// page is what the book says at one time, found by address.
type page struct {
	policy *firewall.Policy
	leads  map[netip.Addr][]lead
}

// read calls f with the book's page. No address is opened meanwhile, so every
// address and connection that f finds in the kernel is on the page.
func (b *book) read(f func(page) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := page{b.policy, map[netip.Addr][]lead{}}
	for l := range b.leads {
		p.leads[l.addr] = append(p.leads[l.addr], l)
	}
	return f(p)
}

// connects reports whether the policy allows a connection to addr, by address
// or by any name that ever led there.
func (p page) connects(addr netip.Addr, port firewall.Port) bool {
	return p.policy.Decide("", addr, port.Number, port.Proto).Allowed() || p.opens(addr, port)
}

// opens reports whether the policy allows new connections to addr because of a
// name that led there.
func (p page) opens(addr netip.Addr, port firewall.Port) bool {
	return slices.ContainsFunc(p.leads[addr], func(l lead) bool { return l.allowed(p.policy, port) })
}

// full reports whether a sweep is due: when there are twice as many leads as
// after the last one.
func (b *book) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.leads) > max(2*b.swept, sweepMin)
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
	for l, until := range b.leads {
		if now.After(until) && !used[l.addr] {
			delete(b.leads, l)
		}
	}
	b.swept = len(b.leads)
}
