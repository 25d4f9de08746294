package learn

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// host is what was seen of one name, or of one address that no name led to.
type host struct {
	name    string     // canonical; "" for an address
	addr    netip.Addr // the address; of a name the private one that it led to
	uses    []use      // sorted by port
	used    map[use]bool
	looked  bool // the name was resolved
	private bool // its answer was refused for being a private address
	denied  bool // it was refused, and nothing of it was allowed

	// Parts that a policy lacks; see missing.
	ports   []firewall.Port
	unnamed bool // the name may not be resolved
}

// use is a connection, or packets, to a port of an address.
type use struct {
	port firewall.Port
	addr netip.Addr // invalid when unknown
}

// text is the host as people write it.
func (h *host) text() string {
	if h.name != "" {
		return h.name
	}
	return h.addr.String()
}

// gather puts the records together by host, sorted by text. Records of refusals
// count only as far as o includes them.
func gather(records []audit.Record, o Options) []*host {
	hosts := map[string]*host{}
	typed := opened(records)
	for _, r := range records {
		h, used, ok := read(r, o)
		if !ok || typed[h.name] && (used.port.Number == 0 || used.port.Number == 80 || used.port.Number == 443) {
			continue
		}
		known := hosts[h.text()]
		if known == nil {
			known = &h
			known.used = map[use]bool{}
			hosts[h.text()] = known
		}
		known.looked = known.looked || h.looked
		known.denied = known.denied && h.denied
		if h.private {
			known.private, known.addr = true, h.addr
		}
		if used.port.Number != 0 && !known.used[used] {
			known.used[used] = true
			known.uses = append(known.uses, used)
		}
	}
	list := make([]*host, 0, len(hosts))
	for _, h := range hosts {
		slices.SortFunc(h.uses, func(a, b use) int {
			return cmp.Or(cmp.Compare(a.port.Number, b.port.Number), cmp.Compare(a.port.Proto, b.port.Proto))
		})
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b *host) int { return strings.Compare(a.text(), b.text()) })
	return list
}

// read understands one record; ok is false when there is nothing to learn from it.
func read(r audit.Record, o Options) (h host, used use, ok bool) {
	if r.Layer == audit.LayerLog || strings.HasPrefix(r.Rule, audit.SearchRule) || r.Rule == audit.RuleAbsent {
		return h, used, false
	}
	if r.Name != "" {
		name, err := firewall.CanonicalName(r.Name)
		if err != nil || strings.HasSuffix(name, ".arpa") {
			return h, used, false
		}
		h.name = name
	}
	addr, err := netip.ParseAddr(r.Dst)
	if err == nil {
		addr = addr.Unmap().WithZone("")
	}
	if addr.IsValid() && firewall.IsMetadata(addr) {
		return h, used, false // credentials of the machine's, whatever let it pass then
	}
	if h.name == "" {
		h.addr = addr
	}
	h.looked = r.Layer == audit.LayerDNS
	if r.Port != 0 && (r.Proto == firewall.TCP || r.Proto == firewall.UDP) {
		used = use{firewall.Port{Number: r.Port, Proto: r.Proto}, addr}
	}
	if h.name == "" && (!addr.IsValid() || used.port.Number == 0) {
		return h, used, false
	}
	if r.Verdict == firewall.Allow {
		return h, used, true
	}
	h.denied = true
	if addr.IsValid() && !firewall.IsInternet(addr) {
		h.private, h.addr = h.looked, addr
		if !o.Private || !addr.IsPrivate() {
			return h, used, false
		}
		return h, used, h.private || o.Denied && r.Rule == ""
	}
	return h, used, o.Denied && r.Rule == "" // otherwise an entry or a property of the sandbox decided
}
