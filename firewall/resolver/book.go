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

// bookNames bounds the names that the book holds. Wildcards let the sandbox
// invent names, and a forgotten one is only asked for again.
const bookNames = 10000

// maxLookups bounds the questions of Addresses that are under way at a time.
const maxLookups = 64

// book knows which allowed name led to which addresses, for as long as the
// packet filter holds them. It is safe for concurrent use.
type book struct {
	now func() time.Time

	mu    sync.Mutex
	names map[string][]place
}

// place is where a name led to.
type place struct {
	addr    netip.Addr
	aliases []string  // on the way there; a later policy may deny one of them
	until   time.Time // when it is forgotten
}

func newBook(now func() time.Time) *book {
	return &book{now: now, names: map[string][]place{}}
}

// note remembers addresses of name, with the aliases on the way to them, until
// after is over.
func (b *book) note(name string, aliases []string, addrs []netip.Addr, after time.Duration) {
	if len(addrs) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.names[name]; !known && len(b.names) >= bookNames {
		b.makeRoom()
	}
	places := b.remembered(name)
	until := b.now().Add(after)
	for _, a := range addrs {
		i := slices.IndexFunc(places, func(p place) bool { return p.addr == a })
		switch {
		case i < 0:
			places = append(places, place{a, aliases, until})
		default:
			places[i].aliases = aliases
			if until.After(places[i].until) {
				places[i].until = until
			}
		}
	}
	b.names[name] = places
}

// of returns the addresses of name, in no order, whose aliases may all be.
func (b *book) of(name string, may func(alias string) bool) []netip.Addr {
	b.mu.Lock()
	defer b.mu.Unlock()
	places := b.remembered(name)
	addrs := make([]netip.Addr, 0, len(places))
	for _, p := range places {
		if !slices.ContainsFunc(p.aliases, func(alias string) bool { return !may(alias) }) {
			addrs = append(addrs, p.addr)
		}
	}
	return addrs
}

// aliases returns the aliases on the way to any address of name.
func (b *book) aliases(name string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, p := range b.remembered(name) {
		for _, alias := range p.aliases {
			if !slices.Contains(all, alias) {
				all = append(all, alias)
			}
		}
	}
	return all
}

// remembered forgets the places of name whose time is over and returns the
// others.
func (b *book) remembered(name string) []place {
	places, known := b.names[name]
	if !known {
		return nil
	}
	now := b.now()
	places = slices.DeleteFunc(places, func(p place) bool { return !p.until.After(now) })
	b.names[name] = places
	return places
}

// makeRoom removes the names without an address, and any others until an eighth
// of the room is free: it looks at all of them, which must not be done for each.
func (b *book) makeRoom() {
	for name := range b.names {
		if len(b.remembered(name)) == 0 {
			delete(b.names, name)
		}
	}
	for name := range b.names {
		if len(b.names) <= bookNames-bookNames/8-1 {
			return
		}
		delete(b.names, name)
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
	owner, err := dnsmessage.NewName(name + ".")
	if err != nil {
		return known
	}
	select {
	case s.lookups <- struct{}{}:
		defer func() { <-s.lookups }()
	case <-ctx.Done():
		return known
	}
	q := question{q: dnsmessage.Question{Name: owner, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}
	if want.Is6() {
		q.q.Type = dnsmessage.TypeAAAA
	}
	s.askUpstream(ctx, name, q, audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: name, Rule: d.Rule, Reason: d.Reason})
	return s.known(name)
}

// known returns the addresses that name led to, in a way that the policy still
// allows.
func (s *Server) known(name string) []netip.Addr {
	policy := *s.policy.Load()
	return s.book.of(name, func(alias string) bool { return policy.DecideAlias(name, alias).Allowed() })
}

// Aliases returns the aliases on the way from name to the addresses that it led
// to.
func (s *Server) Aliases(name string) []string { return s.book.aliases(name) }
