package firewall

import "net/netip"

// Denies returns the deny entry that stands against a destination, so that no
// entry that allows it would help; "" when there is none. With name "" the
// address alone counts, with a zero addr the name alone. With port 0 only an
// entry that speaks of every port does.
func (p *Policy) Denies(name string, addr netip.Addr, port Port) string {
	means := func(e *entry) bool { return e.opens(port) }
	if port.Number == 0 {
		means = wholeEntry
	}
	if canonical, err := CanonicalName(name); err == nil {
		if e := p.deny.name(canonical, means); e != nil {
			return e.rule
		}
	}
	if addr.IsValid() {
		if e := p.deniesAddr(addr.Unmap().WithZone(""), means); e != nil {
			return e.rule
		}
	}
	return ""
}

// IsInternet reports whether addr is an address of the internet, and no private
// one, metadata service or address that is no destination.
func IsInternet(addr netip.Addr) bool {
	class, _ := classify(addr.Unmap())
	return class == classGlobal
}

// IsMetadata reports whether addr is that of a cloud's metadata service, which
// hands out credentials.
func IsMetadata(addr netip.Addr) bool {
	class, _ := classify(addr.Unmap())
	return class == classMetadata
}
