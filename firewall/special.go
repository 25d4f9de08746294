package firewall

import (
	"net/netip"
	"slices"
)

// addrClass says what kind of place an address is, as far as that decides
// whether a name may lead there.
type addrClass int

const (
	classGlobal   addrClass = iota // the internet
	classPrivate                   // the sandbox's surroundings: allowed for names under "private"
	classMetadata                  // a cloud's instance metadata, which hands out credentials: only by an address entry
	classInvalid                   // no place that a name can rightly mean: only by an address entry
)

// specialRange is one range of the registries of RFC 6890 that is not the
// internet.
type specialRange struct {
	prefix netip.Prefix
	class  addrClass
	what   string // for the reason of a refusal
}

// specialRanges is searched in order, so single addresses stand before the
// ranges that contain them.
//
// The documentation ranges (192.0.2.0/24, 198.51.100.0/24, 203.0.113.0/24,
// 2001:db8::/32) are left out on purpose: nothing answers there on a real
// network, so a refusal would protect nothing, and the tests use them as their
// internet.
var specialRanges = []specialRange{
	// Metadata services. AWS, Google, Azure and most others answer on the first
	// one; the second is AWS over IPv6, then AWS ECS and EKS, Google over IPv6,
	// Alibaba, and Azure's wire server.
	{pfx("169.254.169.254/32"), classMetadata, "a cloud metadata address"},
	{pfx("fd00:ec2::254/128"), classMetadata, "a cloud metadata address"},
	{pfx("169.254.170.2/32"), classMetadata, "a cloud metadata address"},
	{pfx("169.254.170.23/32"), classMetadata, "a cloud metadata address"},
	{pfx("fd00:ec2::23/128"), classMetadata, "a cloud metadata address"},
	{pfx("fd20:ce::254/128"), classMetadata, "a cloud metadata address"},
	{pfx("100.100.100.200/32"), classMetadata, "a cloud metadata address"},
	{pfx("168.63.129.16/32"), classMetadata, "a cloud metadata address"},

	{pfx("0.0.0.0/8"), classInvalid, "\"this network\" (RFC 1122 3.2.1.3)"},
	{pfx("10.0.0.0/8"), classPrivate, "private (RFC 1918)"},
	{pfx("100.64.0.0/10"), classPrivate, "shared address space (RFC 6598)"},
	{pfx("127.0.0.0/8"), classPrivate, "loopback (RFC 1122 3.2.1.3)"},
	{pfx("169.254.0.0/16"), classPrivate, "link-local (RFC 3927)"},
	{pfx("172.16.0.0/12"), classPrivate, "private (RFC 1918)"},
	{pfx("192.0.0.0/24"), classInvalid, "reserved for protocols (RFC 6890 2.1)"},
	{pfx("192.168.0.0/16"), classPrivate, "private (RFC 1918)"},
	{pfx("198.18.0.0/15"), classPrivate, "for benchmarks inside a network (RFC 2544)"},
	{pfx("224.0.0.0/4"), classInvalid, "multicast (RFC 5771)"},
	{pfx("240.0.0.0/4"), classInvalid, "reserved or broadcast (RFC 1112, RFC 919)"},

	{pfx("::/128"), classInvalid, "unspecified (RFC 4291 2.5.2)"},
	{pfx("::1/128"), classPrivate, "loopback (RFC 4291 2.5.3)"},
	{pfx("::ffff:0:0/96"), classInvalid, "an IPv4 address in IPv6 form (RFC 4291 2.5.5.2)"},
	{pfx("::ffff:0:0:0/96"), classInvalid, "an IPv4 address in IPv6 form (RFC 2765 2.1)"},
	{pfx("::/96"), classInvalid, "an IPv4 address in IPv6 form (RFC 4291 2.5.5.1)"},
	{pfx("64:ff9b:1::/48"), classPrivate, "local translation to IPv4 (RFC 8215)"},
	{pfx("100::/64"), classInvalid, "discard only (RFC 6666)"},
	// Half of a Teredo address is an IPv4 address with all bits inverted, so
	// no prefix tells the special ones from the others.
	{pfx("2001::/32"), classInvalid, "Teredo, a tunnel to IPv4 (RFC 4380)"},
	{pfx("5f00::/16"), classPrivate, "for segments inside a network (RFC 9602)"},
	{pfx("fc00::/7"), classPrivate, "unique local (RFC 4193)"},
	{pfx("fe80::/10"), classPrivate, "link-local (RFC 4291 2.5.6)"},
	{pfx("fec0::/10"), classPrivate, "site-local (RFC 3879)"},
	{pfx("ff00::/8"), classInvalid, "multicast (RFC 4291 2.7)"},
}

// tunnelRanges carry an IPv4 address inside an IPv6 one, right behind the
// prefix, so the address is as special as the one inside.
var tunnelRanges = []struct {
	prefix netip.Prefix
	what   string
}{
	{pfx("64:ff9b::/96"), "NAT64 (RFC 6052)"},
	{pfx("2002::/16"), "6to4 (RFC 3056)"},
}

func pfx(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// classify says what kind of place addr is, and why, in words that follow
// "ADDR is".
func classify(addr netip.Addr) (addrClass, string) {
	addr = addr.WithZone("")
	for _, r := range specialRanges {
		if r.prefix.Contains(addr) {
			return r.class, r.what
		}
	}
	if inner, what, ok := inside(addr); ok {
		if class, why := classify(inner); class != classGlobal {
			return class, what + " for " + inner.String() + ", which is " + why
		}
	}
	return classGlobal, ""
}

// inside returns the IPv4 address that an address of a tunnel carries, and what
// the tunnel is.
func inside(addr netip.Addr) (inner netip.Addr, what string, ok bool) {
	for _, t := range tunnelRanges {
		if t.prefix.Contains(addr) {
			raw, at := addr.As16(), t.prefix.Bits()/8
			return netip.AddrFrom4([4]byte(raw[at : at+4])), t.what, true
		}
	}
	return inner, "", false
}

// disguises returns the forms that an IPv4 network has in the tunnels.
func disguises(p netip.Prefix) []netip.Prefix {
	var out []netip.Prefix
	for _, t := range tunnelRanges {
		raw, inner := t.prefix.Addr().As16(), p.Addr().As4()
		copy(raw[t.prefix.Bits()/8:], inner[:])
		out = append(out, netip.PrefixFrom(netip.AddrFrom16(raw), t.prefix.Bits()+p.Bits()))
	}
	return out
}

// notInternet returns the networks of one family whose addresses classify says
// are special, but for loopback; none of them contains another.
func notInternet(ipv6 bool) []netip.Prefix {
	var out []netip.Prefix
	add := func(p netip.Prefix) {
		contains := func(o netip.Prefix) bool { return o.Bits() <= p.Bits() && o.Contains(p.Addr()) }
		if !p.Addr().IsLoopback() && !slices.ContainsFunc(out, contains) {
			out = slices.DeleteFunc(out, func(o netip.Prefix) bool { return p.Bits() <= o.Bits() && p.Contains(o.Addr()) })
			out = append(out, p)
		}
	}
	for _, r := range specialRanges {
		if r.prefix.Addr().Is6() == ipv6 {
			add(r.prefix)
		}
		if ipv6 && r.prefix.Addr().Is4() {
			for _, p := range disguises(r.prefix) {
				add(p)
			}
		}
	}
	return out
}
