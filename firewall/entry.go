package firewall

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/publicsuffix"
)

// entry is one understood line of allow, deny, private or a preset. Exactly
// one of name and prefix is set.
type entry struct {
	rule     string       // as decisions show it: "*.example.org", "preset:github *.github.com"
	name     string       // canonical; of a wildcard the part after "*."
	wildcard bool         // matches any name below name, at any depth, and not name itself
	prefix   netip.Prefix // an address or a network, masked
	ports    []Port       // nil = no port written
	typed    bool         // opens the host for Policy.Operations to judge
}

// webPorts are what an allow entry opens when it names no port.
var webPorts = []Port{{80, TCP}, {443, TCP}}

// matchesName reports whether the canonical name is one the entry means.
func (e *entry) matchesName(name string) bool {
	if e.name == "" {
		return false
	}
	if !e.wildcard {
		return name == e.name
	}
	return len(name) > len(e.name)+1 && strings.HasSuffix(name, e.name) && name[len(name)-len(e.name)-1] == '.'
}

// opens reports whether the entry speaks of this port; one without ports
// speaks of all.
func (e *entry) opens(port Port) bool {
	return e.ports == nil || slices.Contains(e.ports, port)
}

// problem is why an entry cannot be used; it becomes an EntryError.
type problem struct{ message, hint string }

func complain(hint, format string, args ...any) *problem {
	return &problem{fmt.Sprintf(format, args...), hint}
}

// asEntry says which entry of a Network the problem is about.
func (p *problem) asEntry(list string, index int) EntryError {
	return EntryError{List: list, Index: index, Message: p.message, Hint: p.hint}
}

// parseEntry reads one entry:
//
//	NAME | "*." NAME                      [ ":" PORT [ "/tcp" | "/udp" ] ]
//	IPv4 | IPv4 "/" BITS                  [ ":" PORT [ "/tcp" | "/udp" ] ]
//	IPv6 | IPv6 "/" BITS | "[" … "]"      [ ":" PORT [ "/tcp" | "/udp" ] ], brackets with a port
func parseEntry(text string) (entry, *problem) {
	s := strings.TrimSpace(text)
	if s == "" {
		return entry{}, complain("remove it", "the entry is empty")
	}
	if host, rest, ok := strings.Cut(s, "://"); ok {
		hint := hintWrite(hostOfURL(rest))
		if host == "https" {
			hint += ", or methods and paths, as in https://" + hostOfURL(rest) + " GET /**"
		}
		return entry{}, complain(hint, "%q is a URL (%s), and an entry is a host", s, host)
	}
	switch {
	case strings.ContainsFunc(s, unicode.IsSpace) ||
		strings.ContainsAny(s, ",;") && strings.ContainsAny(s[strings.LastIndexAny(s, ",;")+1:], ".*"):
		return entry{}, complain("write one entry for each host", "%q holds more than one word", s)
	case strings.HasPrefix(s, "@"):
		return entry{}, complain("list the entries here", "%q names a list file, and those are read from the settings alone", s)
	case strings.Contains(s, "@"):
		return entry{}, complain(hintWrite(hostOfURL(s)), "%q names a user, and an entry is a host", s)
	case strings.HasPrefix(s, ".") && strings.Contains(s, "/"):
		return entry{}, complain("write a host, such as docs.example.com", "%q is a path, and an entry is a host", s)
	case strings.HasPrefix(s, "."):
		return entry{}, complain(hintWrite("*"+s), "%q begins with a dot", s)
	}
	e := entry{rule: s}
	host, ports, bad := splitPort(s)
	if bad != nil {
		return entry{}, bad
	}
	e.ports = ports
	prefix, isAddr, bad := parseAddress(host)
	if bad != nil {
		return entry{}, bad
	}
	if isAddr {
		e.prefix = prefix
		return e, nil
	}
	if bad := e.setName(host); bad != nil {
		return entry{}, bad
	}
	return e, nil
}

// splitPort takes ":PORT" and "/PROTO" off an entry. The host keeps a "/BITS".
func splitPort(s string) (host string, ports []Port, bad *problem) {
	if strings.HasPrefix(s, "[") {
		inside, rest, ok := strings.Cut(s[1:], "]")
		if !ok {
			return "", nil, complain("write it as [2001:db8::/32]:8443", "%q lacks the closing bracket", s)
		}
		if rest == "" {
			return inside, nil, nil
		}
		port, ok := strings.CutPrefix(rest, ":")
		if !ok {
			return "", nil, complain("write it as [2001:db8::/32]:8443", "%q has %q after the bracket", s, rest)
		}
		ports, bad = parsePort(s, port)
		return inside, ports, bad
	}
	if strings.Count(s, ":") > 1 { // IPv6 without brackets has no port
		if strings.LastIndexByte(s, ':') > strings.IndexByte(s, '/') && strings.Contains(s, "/") {
			return "", nil, complain("write an IPv6 network with a port as [2001:db8::/32]:8443", "%q is ambiguous", s)
		}
		return s, nil, nil
	}
	host, port, ok := strings.Cut(s, ":")
	if ok {
		ports, bad = parsePort(s, port)
		return host, ports, bad
	}
	if name, proto, ok := strings.Cut(s, "/"); ok && (proto == string(TCP) || proto == string(UDP)) {
		return "", nil, complain(hintWrite(name+":443/"+proto), "%q names a protocol without a port", s)
	}
	return s, nil, nil
}

func parsePort(s, text string) ([]Port, *problem) {
	number, proto, hasProto := strings.Cut(text, "/")
	if strings.ContainsAny(number, ",-") {
		return nil, complain("write one entry for each port", "%q names more than one port", s)
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return nil, complain("write it as host:443", "%q is not a port", number)
	}
	if n < 1 || n > 65535 {
		return nil, complain("use a port from 1 to 65535", "port %s is out of range", number)
	}
	p := Port{uint16(n), TCP}
	if hasProto {
		switch Proto(proto) {
		case TCP, UDP:
			p.Proto = Proto(proto)
		default:
			host := strings.TrimSuffix(s, "/"+proto)
			return nil, complain(hintWrite(host), "%q is neither tcp nor udp, and an entry has no path", "/"+proto)
		}
	}
	return []Port{p}, nil
}

// parseAddress reads an address or a network; isAddr is false when host is
// neither and may still be a name.
func parseAddress(host string) (prefix netip.Prefix, isAddr bool, bad *problem) {
	if addr, err := netip.ParseAddr(host); err == nil {
		switch {
		case addr.Zone() != "":
			return prefix, true, complain("leave out %"+addr.Zone(), "%q has a zone", host)
		case addr.Is4In6():
			return prefix, true, complain(hintWrite(addr.Unmap().String()), "%q is an IPv4 address in IPv6 form", host)
		}
		return netip.PrefixFrom(addr, addr.BitLen()), true, nil
	}
	if strings.Contains(host, "/") {
		before, after, _ := strings.Cut(host, "/")
		addr, err := netip.ParseAddr(before)
		if err != nil {
			return prefix, false, complain(hintWrite(before), "%q has a path, and an entry is a host", host)
		}
		p, err := netip.ParsePrefix(host)
		switch {
		case err != nil:
			return prefix, true, complain(fmt.Sprintf("use a length from 1 to %d", addr.BitLen()), "/%s is not a prefix length of %s", after, before)
		case addr.Is4In6():
			return prefix, true, complain("write the IPv4 network", "%q is an IPv4 network in IPv6 form", host)
		case p.Bits() == 0:
			return prefix, true, complain(`name the networks, or let everything out and record it: "mode": "audit", in the Action egress: audit`,
				"%q is the whole internet", host)
		case p != p.Masked():
			return prefix, true, complain(fmt.Sprintf("write %s, or %s for the one address", p.Masked(), before),
				"%q has bits set after the prefix", host)
		}
		return p, true, nil
	}
	if strings.Contains(host, ":") {
		return prefix, false, complain("write an IPv6 address with a port as [2001:db8::1]:443", "%q is neither a name nor an address", host)
	}
	return prefix, false, nil
}

func (e *entry) setName(host string) *problem {
	if host == "*" {
		return complain(`name the domains, or let everything out and record it: "mode": "audit", in the Action egress: audit`,
			"%q would match every name", host)
	}
	rest, wildcard := strings.CutPrefix(host, "*.")
	if strings.Contains(rest, "*") {
		suffix := strings.TrimLeft(rest[strings.LastIndexByte(rest, '*')+1:], ".")
		hint := "put the wildcard first, as in *.example.org"
		if strings.Contains(suffix, ".") {
			hint = hintWrite("*." + suffix)
		}
		return complain(hint, "%q: a wildcard stands only for whole labels at the beginning", host)
	}
	name, err := CanonicalName(rest)
	if err != nil {
		return complain("", "%s", err)
	}
	e.name, e.wildcard = name, wildcard
	return checkScripts(name)
}

// checkScripts refuses a canonical name that only looks like another one.
func checkScripts(name string) *problem {
	label := mixedScripts(name)
	if label == "" {
		return nil
	}
	return complain("write it with the letters of one alphabet",
		"%q mixes letters of several alphabets in %q, so that it looks like another name", name, label)
}

// widest4 and widest6 are the shortest prefixes that an allow entry may have:
// no organisation holds more of IPv4 than a /8, and a registry of IPv6 gets a /12
// to share out.
const (
	widest4 = 8
	widest6 = 16
)

// tooWide says why an entry must not widen a policy, though it may narrow one.
func (e *entry) tooWide() *problem {
	if e.prefix.IsValid() {
		addr := e.prefix.Addr()
		switch {
		case addr.IsLoopback():
			return complain("remove it", "%s is loopback, which is always open", e.prefix)
		case addr.IsMulticast():
			return complain("remove it", "%s is multicast, which never leaves the sandbox", e.prefix)
		case addr.IsUnspecified():
			return complain("name the network that is meant", "%s is no destination", e.prefix)
		case e.prefix.Bits() < widest4, addr.Is6() && e.prefix.Bits() < widest6:
			return complain(`name the networks, or let everything out and record it: "mode": "audit", in the Action egress: audit`,
				"%s is a part of the internet that belongs to many organisations", e.prefix)
		}
	}
	if e.wildcard {
		suffix, icann := publicsuffix.PublicSuffix(e.name)
		single := !strings.Contains(e.name, ".")
		if suffix == e.name && (icann || single && !slices.Contains(localSuffixes, e.name)) {
			return complain(hintWrite("*.example."+e.name), "*.%s is a whole public registry: anyone can have a name there", e.name)
		}
	}
	for _, p := range e.ports {
		switch p.Number {
		case 53:
			return complain("remove it: the sandbox's own resolver asks the machine's resolvers",
				"port 53 always leads to the sandbox's own resolver")
		case 853:
			return complain("remove it: programs fall back to plain DNS", "DNS over TLS (port 853) would pass by the sandbox's resolver")
		}
	}
	return nil
}

// localSuffixes are top-level names that no public registry sells: RFC 6761,
// RFC 6762, and "internal", which ICANN reserved for private use in 2024.
var localSuffixes = []string{"internal", "local", "test", "localhost"}

func hintWrite(entry string) string { return "write " + entry }

// hostOfURL returns the host, and the port if any, of a URL without scheme.
func hostOfURL(rest string) string {
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest[strings.LastIndexByte(rest, '@')+1:]
}
