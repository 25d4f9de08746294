package firewall

import "net/netip"

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
// network, so a refusal would protect nobody, and the tests use them as their
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
	{pfx("::/96"), classInvalid, "an IPv4 address in IPv6 form (RFC 4291 2.5.5.1)"},
	{pfx("64:ff9b:1::/48"), classPrivate, "local translation to IPv4 (RFC 8215)"},
	{pfx("100::/64"), classInvalid, "discard only (RFC 6666)"},
	{pfx("fc00::/7"), classPrivate, "unique local (RFC 4193)"},
	{pfx("fe80::/10"), classPrivate, "link-local (RFC 4291 2.5.6)"},
	{pfx("fec0::/10"), classPrivate, "site-local (RFC 3879)"},
	{pfx("ff00::/8"), classInvalid, "multicast (RFC 4291 2.7)"},
}

// tunnelRanges carry an IPv4 address inside an IPv6 one, so the address is as
// special as the one inside.
var tunnelRanges = []struct {
	prefix netip.Prefix
	at     int  // byte where the IPv4 address begins
	flip   bool // stored with all bits inverted
	what   string
}{
	{pfx("64:ff9b::/96"), 12, false, "NAT64 (RFC 6052)"},
	{pfx("2002::/16"), 2, false, "6to4 (RFC 3056)"},
	{pfx("2001::/32"), 4, false, "Teredo server (RFC 4380)"},
	{pfx("2001::/32"), 12, true, "Teredo client (RFC 4380)"},
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
	if addr.Is4() {
		return classGlobal, ""
	}
	raw := addr.As16()
	for _, t := range tunnelRanges {
		if !t.prefix.Contains(addr) {
			continue
		}
		inner := [4]byte(raw[t.at : t.at+4])
		if t.flip {
			for i := range inner {
				inner[i] = ^inner[i]
			}
		}
		v4 := netip.AddrFrom4(inner)
		if class, what := classify(v4); class != classGlobal {
			return class, t.what + " for " + v4.String() + ", which is " + what
		}
	}
	return classGlobal, ""
}
