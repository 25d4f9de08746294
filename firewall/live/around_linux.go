package live

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/org/claude-sandbox/firewall"
)

// Around returns the networks that the machine is on and its gateways, without
// loopback, and then more, which cannot be seen from here: behind an address of
// these is a neighbour or the host, also when it is not a private one. It needs
// no privilege.
func Around(more []netip.Prefix) ([]netip.Prefix, error) {
	fail := func(err error) ([]netip.Prefix, error) {
		return nil, fmt.Errorf("finding the networks around: %w", err)
	}
	var out []netip.Prefix
	add := func(p netip.Prefix) {
		if p = p.Masked(); p.IsValid() && p.Bits() > 0 && !p.Addr().IsLoopback() && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return fail(err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			add(netip.PrefixFrom(p.Addr().Unmap(), p.Bits()))
		}
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return fail(err)
	}
	for _, r := range routes {
		gateways := []net.IP{r.Gw}
		for _, hop := range r.MultiPath {
			gateways = append(gateways, hop.Gw)
		}
		gateways = slices.DeleteFunc(gateways, func(g net.IP) bool { return g == nil })
		for _, g := range gateways {
			if a, ok := netip.AddrFromSlice(g); ok {
				a = a.Unmap()
				add(netip.PrefixFrom(a, a.BitLen()))
			}
		}
		// Without a gateway the destination itself is on the link.
		if len(gateways) == 0 && r.Dst != nil {
			if a, ok := netip.AddrFromSlice(r.Dst.IP); ok {
				bits, _ := r.Dst.Mask.Size()
				add(netip.PrefixFrom(a.Unmap(), bits))
			}
		}
	}
	for _, p := range more {
		add(p)
	}
	return out, nil
}

// Facts completes what the kernel says of a machine with what is known before
// the servers listen: they get the usual ports.
func Facts(known firewall.Facts, resolvers Resolvers, around []netip.Prefix) firewall.Facts {
	known.Upstreams = resolvers.Addrs
	known.ResolverPort, known.GuardPort = firewall.ResolverPort, firewall.GuardPort
	known.Mark = firewall.Mark
	known.DaemonUID = os.Geteuid()
	known.Around = around
	return known
}
