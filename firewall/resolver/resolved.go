package resolver

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// maxResolved bounds the names that are remembered. Wildcards let the sandbox
// invent names, and a forgotten one is only asked for again.
const maxResolved = 10000

// resolved is which allowed name led to which addresses, for as long as the
// packet filter holds them. It is safe for concurrent use.
type resolved struct {
	now func() time.Time

	mu    sync.Mutex
	names map[string][]resolvedAddr
}

// resolvedAddr is an address that a name led to.
type resolvedAddr struct {
	addr    netip.Addr
	aliases []string  // on the way there; a later policy may deny one of them
	until   time.Time // when it is forgotten
}

func newResolved(now func() time.Time) *resolved {
	return &resolved{now: now, names: map[string][]resolvedAddr{}}
}

// note remembers addresses of name, with the aliases on the way to them, until
// after is over.
func (r *resolved) note(name string, aliases []string, addrs []netip.Addr, after time.Duration) {
	if len(addrs) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.names[name]; !known && len(r.names) >= maxResolved {
		r.makeRoom()
	}
	known := r.remembered(name)
	until := r.now().Add(after)
	for _, a := range addrs {
		i := slices.IndexFunc(known, func(p resolvedAddr) bool { return p.addr == a })
		switch {
		case i < 0:
			known = append(known, resolvedAddr{a, aliases, until})
		default:
			known[i].aliases = aliases
			if until.After(known[i].until) {
				known[i].until = until
			}
		}
	}
	r.names[name] = known
}

// of returns the addresses of name, in no order, whose aliases may all be.
func (r *resolved) of(name string, may func(alias string) bool) []netip.Addr {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.remembered(name)
	addrs := make([]netip.Addr, 0, len(known))
	for _, p := range known {
		if !slices.ContainsFunc(p.aliases, func(alias string) bool { return !may(alias) }) {
			addrs = append(addrs, p.addr)
		}
	}
	return addrs
}

// aliases returns the aliases on the way to any address of name.
func (r *resolved) aliases(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, p := range r.remembered(name) {
		for _, alias := range p.aliases {
			if !slices.Contains(all, alias) {
				all = append(all, alias)
			}
		}
	}
	return all
}

// at returns the names that led to an address.
func (r *resolved) at(addr netip.Addr) (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.names {
		if slices.ContainsFunc(r.remembered(name), func(a resolvedAddr) bool { return a.addr == addr }) {
			names = append(names, name)
		}
	}
	return names
}

// remembered forgets the addresses of name whose time is over and returns the
// others.
func (r *resolved) remembered(name string) []resolvedAddr {
	if _, known := r.names[name]; !known {
		return nil
	}
	now := r.now()
	r.names[name] = slices.DeleteFunc(r.names[name], func(a resolvedAddr) bool { return !a.until.After(now) })
	return r.names[name]
}

// makeRoom removes the names without an address, and any others until an eighth
// of the room is free: it looks at all of them, which must not be done for each.
func (r *resolved) makeRoom() {
	for name := range r.names {
		if len(r.remembered(name)) == 0 {
			delete(r.names, name)
		}
	}
	for name := range r.names {
		if len(r.names) <= maxResolved-maxResolved/8-1 {
			return
		}
		delete(r.names, name)
	}
}

// Addresses returns the addresses that name has at the moment, as far as they
// were asked for, in no order. When want is not among them it asks upstream
// for name once more, in want's family, as it would for a client: within the
// policy and the budget, recorded, and with the addresses installed.
func (s *Server) Addresses(ctx context.Context, name string, want netip.Addr) []netip.Addr {
	known := s.known(name)
	if slices.Contains(known, want) || want.Is6() && s.opts.NoIPv6 {
		return known
	}
	d := (*s.policy.Load()).DecideName(name)
	if !d.Allowed() {
		return known
	}
	select {
	case s.lookups <- struct{}{}:
		defer func() { <-s.lookups }()
	case <-ctx.Done():
		return known
	}
	key := cacheKey{name, dnsmessage.TypeA}
	if want.Is6() {
		key.typ = dnsmessage.TypeAAAA
	}
	// Others may wait for the same query, so it goes on when ctx ends.
	rec := audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: name, Rule: d.Rule, Reason: d.Reason}
	s.askUpstream(context.WithoutCancel(ctx), key, rec)
	return s.known(name)
}

// known returns the addresses that name led to, in a way that the policy still
// allows.
func (s *Server) known(name string) []netip.Addr {
	policy := *s.policy.Load()
	return s.resolved.of(name, func(alias string) bool { return policy.DecideAlias(name, alias).Allowed() })
}

// Aliases returns the aliases on the way from name to the addresses that it led
// to.
func (s *Server) Aliases(name string) []string { return s.resolved.aliases(name) }

// NamesAt returns the names that led to an address, in no order.
func (s *Server) NamesAt(addr netip.Addr) []string { return s.resolved.at(addr) }
