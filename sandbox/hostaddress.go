package sandbox

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// HostAddresses returns the addresses of this machine's interfaces that look
// like the internet's from inside a sandbox, sorted: the firewall cannot tell
// them by itself, and an allowed name must not lead to them. Private, loopback
// and link-local addresses are left out, because no name may lead there anyway.
//
// With an engine on another machine they are not those of the sandbox's host.
// A public address that a router in front of the machine translates is on no
// interface, so it is not among them either.
func HostAddresses() ([]netip.Addr, error) {
	found, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("%w: finding the addresses of this machine: %w", ErrNoStart, err)
	}
	var out []netip.Addr
	for _, a := range found {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue // of no family that a packet could be sent to
		}
		if addr := prefix.Addr().Unmap().WithZone(""); addr.IsGlobalUnicast() && !addr.IsPrivate() {
			out = append(out, addr)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out), nil
}
