package main

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
)

// around returns the networks that the machine is on and its gateways, beside
// loopback, and then more, which says what cannot be seen from here: behind an
// address of those is a neighbour or the host, also when it is not a private one.
// It needs no privilege.
func around(more []netip.Prefix) ([]netip.Prefix, error) {
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

// addPrefixes returns the reader of a flag that holds addresses and networks,
// separated by commas, and adds them to list.
func addPrefixes(list *[]netip.Prefix) func(string) error {
	return func(text string) error {
		for word := range strings.SplitSeq(text, ",") {
			prefix, err := netip.ParsePrefix(word)
			if addr, notPrefix := netip.ParseAddr(word); notPrefix == nil {
				prefix, err = netip.PrefixFrom(addr.Unmap().WithZone(""), addr.Unmap().BitLen()), nil
			}
			if err != nil {
				return fmt.Errorf("%q is neither an address nor a network", word)
			}
			*list = append(*list, prefix)
		}
		return nil
	}
}
