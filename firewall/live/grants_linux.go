package live

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/firewall"
)

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
