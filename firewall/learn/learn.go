package learn

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// Options says what may be proposed in addition to exact names and addresses. The zero
// value is the careful one.
type Options struct {
	Presets   bool // a preset in the place of two or more names that it covers
	Wildcards bool // a wildcard in the place of three or more names below one domain

	Denied  bool // also what was refused because no entry allows it
	Private bool // also names that were refused for leading to private addresses
	Data    bool // also names that look like data
}

// Proposal is one entry to add.
type Proposal struct {
	List   string   // of "network": "presets", "allow" or "private"
	Entry  string   // as sandbox.jsonc writes it
	Covers []string // the destinations that were seen and that it opens, as people write them
	Note   string   // what to know before it is added; may be empty
}

// LeftOut is a destination that was seen and is not proposed.
type LeftOut struct {
	Host string
	Why  string
}

// Lesson is what an allowlist lacks.
type Lesson struct {
	Add     []Proposal // in the order of the lists, then by entry
	Left    []LeftOut  // by host
	Refused int        // entries that Options.Denied would add
}

// Bounds of what a lesson takes for somebody's hosts rather than data.
const (
	manyNames    = 100 // new names below one domain, as in the resolver's budget; new addresses without a name
	manyPorts    = 20  // of one host
	minPreset    = 2   // names that a preset must cover
	minWildcards = 3   // names that a wildcard must cover
)

// New compares what was seen with a policy as it is in mode allowlist; its own mode
// does not matter. nil is one without an entry.
func New(records []audit.Record, policy *firewall.Policy, o Options) *Lesson {
	l := newLesson(records, policy, o)
	if !o.Denied {
		o.Denied = true
		l.Refused = max(0, len(newLesson(records, policy, o).Add)-len(l.Add))
	}
	return l
}

func newLesson(records []audit.Record, policy *firewall.Policy, o Options) *Lesson {
	if policy == nil {
		policy = firewall.Closed()
	}
	policy = policy.InMode(firewall.ModeAllowlist)
	l := &Lesson{}
	var lacking []*host
	for _, h := range gather(records, o) {
		if missing, why := h.missing(policy); why != "" {
			l.leave(h, why)
		} else if missing {
			lacking = append(lacking, h)
		}
	}
	if !o.Data {
		lacking = l.withoutData(lacking)
	}
	if o.Presets {
		lacking = l.presets(lacking, policy.Network().Deny)
	}
	if o.Wildcards {
		lacking = l.wildcards(lacking)
	}
	for _, h := range lacking {
		l.exact(h)
	}
	l.operations(records, policy, o)
	l.check(policy)
	return l
}

// missing reports whether the policy lacks something of h, and notes what; why
// says why nothing can be added.
func (h *host) missing(p *firewall.Policy) (missing bool, why string) {
	h.ports, h.unnamed = nil, false
	for _, u := range h.uses {
		// A connection that an address entry allows needs no name.
		if p.Decide(h.name, u.addr, u.port.Number, u.port.Proto).Allowed() || slices.Contains(h.ports, u.port) {
			continue
		}
		if rule := p.Denies(h.name, u.addr, u.port); rule != "" {
			return false, "deny has " + rule
		}
		h.ports = append(h.ports, u.port)
	}
	if h.name == "" {
		return len(h.ports) > 0, ""
	}
	if rule := p.Denies(h.name, netip.Addr{}, firewall.Port{}); rule != "" {
		return false, "deny has " + rule
	}
	h.unnamed = h.looked && !p.DecideName(h.name).Allowed()
	if h.private && p.DecideAnswer(h.name, h.addr).Allowed() {
		h.private = false
	}
	missing = h.unnamed || h.private || len(h.ports) > 0
	if missing && firewall.IsMetadataName(h.name) {
		return false, "a cloud's metadata service, which hands out the machine's credentials"
	}
	return missing, ""
}

func (l *Lesson) leave(h *host, why string) {
	l.Left = append(l.Left, LeftOut{h.text(), why})
}

// withoutData leaves out names that look like data, alone or by their number,
// and what looks like a search for open ports.
func (l *Lesson) withoutData(hosts []*host) []*host {
	below := map[string]int{}
	for _, h := range hosts {
		below[domainOf(h.name)]++
	}
	return slices.DeleteFunc(hosts, func(h *host) bool {
		switch {
		case len(h.ports) > manyPorts:
			l.leave(h, fmt.Sprintf("%d of its ports were tried, as by somebody who looks for an open one", len(h.ports)))
		case h.name == "" && below[""] > manyNames:
			l.leave(h, fmt.Sprintf("one of %d addresses that no name led to", below[""]))
		case h.name == "":
			return false
		case firewall.DataLike(h.name):
			l.leave(h, "the name looks like data that somebody sends out")
		case below[domainOf(h.name)] > manyNames:
			l.leave(h, fmt.Sprintf("one of %d new names below %s, as data that is sent out in pieces", below[domainOf(h.name)], domainOf(h.name)))
		default:
			return false
		}
		return true
	})
}

// domainOf is the domain of the name that somebody registered.
func domainOf(name string) string {
	domain, err := publicsuffix.EffectiveTLDPlusOne(name)
	if err != nil {
		return name // a single label, or a public suffix itself
	}
	return domain
}

// presets proposes the presets that cover most, one after the other.
func (l *Lesson) presets(hosts []*host, deny []string) []*host {
	for {
		best, covered := "", []*host(nil)
		for _, name := range firewall.PresetNames() {
			p, errs := firewall.Closed().With(firewall.Network{Presets: []string{name}, Deny: deny})
			if len(errs) > 0 {
				continue
			}
			var all []*host
			for _, h := range hosts {
				if h.name == "" || h.private {
					continue
				}
				again := *h
				if missing, why := again.missing(p); !missing && why == "" {
					all = append(all, h)
				}
			}
			if len(all) > len(covered) {
				best, covered = name, all
			}
		}
		if len(covered) < minPreset {
			return hosts
		}
		entries, _ := firewall.Preset(best)
		l.propose("presets", best, covered, "it opens more than was seen: "+strings.Join(entries, ", "))
		hosts = slices.DeleteFunc(slices.Clone(hosts), func(h *host) bool { return slices.Contains(covered, h) })
	}
}

// wildcards proposes one for the names below one domain, at the deepest level
// that all of them share.
func (l *Lesson) wildcards(hosts []*host) []*host {
	groups := map[string][]*host{}
	var domains []string
	for _, h := range hosts {
		domain := domainOf(h.name)
		if domain == "" || h.name == domain || h.private || !h.webOnly() {
			continue
		}
		if groups[domain] == nil {
			domains = append(domains, domain)
		}
		groups[domain] = append(groups[domain], h)
	}
	slices.Sort(domains)
	for _, domain := range domains {
		group := groups[domain]
		if len(group) < minWildcards {
			continue
		}
		parent := parentOf(group, domain)
		entry := "*." + parent
		if port, same := onlyPort(group); same {
			entry += ":" + port
		}
		if !firewall.ValidAllow(entry) {
			continue // a public registry
		}
		l.propose("allow", entry, group, "it opens every name below "+parent)
		hosts = slices.DeleteFunc(slices.Clone(hosts), func(h *host) bool { return slices.Contains(group, h) })
	}
	return hosts
}

// webOnly reports whether nothing but the web's ports is missing.
func (h *host) webOnly() bool {
	return !slices.ContainsFunc(h.ports, func(p firewall.Port) bool {
		return p.Proto != firewall.TCP || p.Number != 80 && p.Number != 443
	})
}

// onlyPort returns the one port that every host of the group uses.
func onlyPort(group []*host) (string, bool) {
	for _, h := range group {
		if len(h.ports) != 1 || h.ports[0] != group[0].ports[0] {
			return "", false
		}
	}
	return fmt.Sprint(group[0].ports[0].Number), true
}

// parentOf is the longest domain that all names of the group are below.
func parentOf(group []*host, domain string) string {
	_, parent, _ := strings.Cut(group[0].name, ".")
	for _, h := range group {
		for parent != domain && !strings.HasSuffix(h.name, "."+parent) {
			_, parent, _ = strings.Cut(parent, ".")
		}
	}
	return parent
}

// exact proposes the entries for one host.
func (l *Lesson) exact(h *host) {
	note := ""
	if h.denied {
		note = "it was refused"
	}
	if h.private {
		l.propose("private", h.name, []*host{h}, "it leads to "+h.addr.String()+", a private address")
	}
	web := 0
	for _, p := range h.ports {
		if p.Proto == firewall.TCP && (p.Number == 80 || p.Number == 443) {
			web++
		}
	}
	if h.name == "" {
		for _, p := range h.ports {
			l.propose("allow", audit.AllowEntry(h.addr.String(), p.Number, p.Proto), []*host{{addr: h.addr, ports: []firewall.Port{p}}},
				strings.TrimPrefix(note+"; no name led to this address, and the guard asks for none there", "; "))
		}
		return
	}
	if h.unnamed && len(h.ports) == 0 || web == 2 {
		l.propose("allow", h.name, []*host{h}, note)
	}
	for _, p := range h.ports {
		if web == 2 && p.Proto == firewall.TCP && (p.Number == 80 || p.Number == 443) {
			continue
		}
		entry := fmt.Sprintf("%s:%d", h.name, p.Number)
		if p.Proto == firewall.UDP {
			entry += "/udp"
		}
		l.propose("allow", entry, []*host{{name: h.name, ports: []firewall.Port{p}}}, note)
	}
}

func (l *Lesson) propose(list, entry string, hosts []*host, note string) {
	p := Proposal{List: list, Entry: entry, Note: note}
	for _, h := range hosts {
		if len(h.ports) == 0 {
			p.Covers = append(p.Covers, h.text())
		}
		for _, port := range h.ports {
			p.Covers = append(p.Covers, h.text()+" "+port.String())
		}
	}
	l.Add = append(l.Add, p)
}

// check takes back what the matcher does not accept, such as the ports of DNS,
// and brings the lesson into its order.
func (l *Lesson) check(policy *firewall.Policy) {
	_, refused := policy.With(l.Network(firewall.Network{}))
	l.Add = slices.DeleteFunc(l.Add, func(p Proposal) bool {
		if refused == nil { // all of them together, so each alone as well
			return false
		}
		one := Lesson{Add: []Proposal{p}}
		_, bad := policy.With(one.Network(firewall.Network{}))
		if bad != nil {
			l.Left = append(l.Left, LeftOut{p.Entry, bad[0].Message})
		}
		return bad != nil
	})
	order := []string{"presets", "allow", "private"}
	slices.SortStableFunc(l.Add, func(a, b Proposal) int {
		if a.List != b.List {
			return slices.Index(order, a.List) - slices.Index(order, b.List)
		}
		return strings.Compare(a.Entry, b.Entry)
	})
	slices.SortStableFunc(l.Left, func(a, b LeftOut) int { return strings.Compare(a.Host, b.Host) })
}

// Network returns network with the proposals added.
func (l *Lesson) Network(network firewall.Network) firewall.Network {
	for _, p := range l.Add {
		switch p.List {
		case "presets":
			network.Presets = append(slices.Clip(network.Presets), p.Entry)
		case "allow":
			network.Allow = append(slices.Clip(network.Allow), p.Entry)
		case "private":
			network.Private = append(slices.Clip(network.Private), p.Entry)
		}
	}
	return network
}

// Entries returns the proposals for one list.
func (l *Lesson) Entries(list string) []string {
	var entries []string
	for _, p := range l.Add {
		if p.List == list {
			entries = append(entries, p.Entry)
		}
	}
	return entries
}
