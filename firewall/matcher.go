package firewall

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// matcher finds the entries of one list that speak of a name or an address.
// Names are looked up label by label and addresses length by length, so the cost
// grows with the depth of the name or the number of different lengths of
// networks, and not with the length of the list.
type matcher struct {
	entries   []entry
	exact     map[string][]int // name -> places in entries
	wildcards map[string][]int // what follows "*." -> places in entries
	networks  map[netip.Prefix][]int
	lengths   []length // of networks
}

// length is what networks of one family and size have in common.
type length struct {
	bits int
	ipv6 bool
}

func (m *matcher) add(e entry) {
	if m.exact == nil {
		m.exact, m.wildcards = map[string][]int{}, map[string][]int{}
	}
	place := len(m.entries)
	m.entries = append(m.entries, e)
	switch {
	case e.prefix.IsValid():
		m.addNetwork(e.prefix.Masked(), place)
	case e.wildcard:
		m.wildcards[e.name] = append(m.wildcards[e.name], place)
	default:
		m.exact[e.name] = append(m.exact[e.name], place)
	}
}

// clone returns a matcher to which entries can be added without m's knowing.
func (m *matcher) clone() matcher {
	clip := func(places map[string][]int) map[string][]int {
		out := make(map[string][]int, len(places))
		for name, at := range places {
			out[name] = slices.Clip(at)
		}
		return out
	}
	own := matcher{
		entries: slices.Clip(m.entries), exact: clip(m.exact), wildcards: clip(m.wildcards),
		networks: maps.Clone(m.networks), lengths: slices.Clip(m.lengths),
	}
	for p, at := range own.networks {
		own.networks[p] = slices.Clip(at)
	}
	return own
}

// byName calls yield for every entry that matches the canonical name, the
// most specific first, until yield returns false.
func (m *matcher) byName(name string, yield func(*entry) bool) {
	for _, i := range m.exact[name] {
		if !yield(&m.entries[i]) {
			return
		}
	}
	for {
		_, parent, ok := strings.Cut(name, ".")
		if !ok {
			return
		}
		for _, i := range m.wildcards[parent] {
			if !yield(&m.entries[i]) {
				return
			}
		}
		name = parent
	}
}

func (m *matcher) addNetwork(p netip.Prefix, place int) {
	if m.networks == nil {
		m.networks = map[netip.Prefix][]int{}
	}
	m.networks[p] = append(m.networks[p], place)
	if l := (length{p.Bits(), p.Addr().Is6()}); !slices.Contains(m.lengths, l) {
		m.lengths = append(m.lengths, l)
	}
}

// byAddr calls yield for every address entry that contains the unmapped addr,
// in the list's order, until yield returns false.
func (m *matcher) byAddr(addr netip.Addr, yield func(*entry) bool) {
	var room [8]int
	places := room[:0]
	for _, l := range m.lengths {
		if l.ipv6 != addr.Is6() {
			continue
		}
		if p, err := addr.Prefix(l.bits); err == nil {
			places = append(places, m.networks[p]...)
		}
	}
	slices.Sort(places)
	for _, i := range places {
		if !yield(&m.entries[i]) {
			return
		}
	}
}

// name returns the first entry that matches name and satisfies want.
func (m *matcher) name(name string, want func(*entry) bool) *entry {
	var found *entry
	m.byName(name, func(e *entry) bool {
		if want(e) {
			found = e
		}
		return found == nil
	})
	return found
}

// addr is name for an address.
func (m *matcher) addr(addr netip.Addr, want func(*entry) bool) *entry {
	var found *entry
	m.byAddr(addr, func(e *entry) bool {
		if want(e) {
			found = e
		}
		return found == nil
	})
	return found
}

// containing returns an entry that means all that e does, ports aside, and
// satisfies want. The narrowest name comes first.
func (m *matcher) containing(e *entry, want func(*entry) bool) *entry {
	contains := func(o *entry) bool { return o.contains(e) && want(o) }
	switch {
	case e.prefix.IsValid():
		return m.addr(e.prefix.Addr(), contains)
	case e.wildcard:
		return m.name("*."+e.name, contains) // no entry has this name, and the wildcards for it follow
	}
	return m.name(e.name, contains)
}

func anyEntry(*entry) bool     { return true }
func wholeEntry(e *entry) bool { return e.ports == nil } // speaks of every port

// ports returns what the allow entries matching name open, less what deny
// entries with a port take away; sorted, without repetitions.
func (p *Policy) ports(name string) []Port {
	var ports []Port
	p.allow.byName(name, func(e *entry) bool {
		ports = append(ports, e.ports...)
		return true
	})
	if len(ports) == 0 {
		return nil
	}
	p.deny.byName(name, func(e *entry) bool {
		ports = slices.DeleteFunc(ports, e.opens)
		return true
	})
	sortPorts(ports)
	return slices.Compact(ports)
}

func sortPorts(ports []Port) {
	slices.SortFunc(ports, func(a, b Port) int {
		if a.Number != b.Number {
			return int(a.Number) - int(b.Number)
		}
		return strings.Compare(string(a.Proto), string(b.Proto))
	})
}
