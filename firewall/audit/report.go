package audit

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/firewall"
)

// SearchRule begins the Rule of a record about a name that only a search
// domain made ("example.com.corp.lan"); the domain follows.
const SearchRule = "search:"

// Row is what happened to one destination.
type Row struct {
	Host    string           `json:"host"`            // name, or the address when no name was asked for
	Port    uint16           `json:"port,omitempty"`  // 0 when only the name was looked up
	Proto   firewall.Proto   `json:"proto,omitempty"` // "" when only the name was looked up
	Verdict firewall.Verdict `json:"verdict"`
	Count   int              `json:"count"` // decisions, so one lookup of both address families counts twice
	Reason  string           `json:"reason"`
	Rule    string           `json:"rule,omitempty"`    // the entry that decided; "" when none matched
	Fix     string           `json:"fix,omitempty"`     // the exact entry to add; "" when no entry would help
	FixList string           `json:"fixList,omitempty"` // the list of "network" that Fix belongs to: "allow" or "private"
}

// Report sums up an audit log for people.
type Report struct {
	Rows []Row // denied first, then by falling count, then by host
}

// NewReport aggregates records into one row per host, port, protocol, verdict
// and reason. Names that a search domain completed are left out when the name
// itself was asked for too, as resolvers always do.
func NewReport(records []Record) *Report {
	asked := map[string]bool{}
	for _, r := range records {
		if !strings.HasPrefix(r.Rule, SearchRule) {
			asked[r.Name] = true
		}
	}
	type key struct {
		host         string
		port         uint16
		proto        firewall.Proto
		verdict      firewall.Verdict
		rule, reason string
	}
	index := map[key]int{}
	report := &Report{}
	for _, r := range records {
		if domain, ok := strings.CutPrefix(r.Rule, SearchRule); ok && asked[strings.TrimSuffix(r.Name, "."+domain)] {
			continue
		}
		host := cmp.Or(r.Name, r.Dst)
		k := key{host, r.Port, r.Proto, r.Verdict, r.Rule, r.Reason}
		i, ok := index[k]
		if !ok {
			i = len(report.Rows)
			index[k] = i
			fix, list := fixFor(r)
			report.Rows = append(report.Rows, Row{
				Host: host, Port: r.Port, Proto: r.Proto, Verdict: r.Verdict,
				Reason: r.Reason, Rule: r.Rule, Fix: fix, FixList: list,
			})
		}
		report.Rows[i].Count += r.decisions()
	}
	slices.SortStableFunc(report.Rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(rank(a.Verdict), rank(b.Verdict)),
			cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Host, b.Host),
			cmp.Compare(a.Port, b.Port),
			cmp.Compare(a.Reason, b.Reason),
		)
	})
	return report
}

func rank(v firewall.Verdict) int {
	if v == firewall.Deny {
		return 0
	}
	return 1
}

// fixFor returns the entry that would have let r pass and the list it belongs
// to. Only what no entry decided can be mended by adding one.
func fixFor(r Record) (entry, list string) {
	if r.Verdict != firewall.Deny {
		return "", ""
	}
	if r.Layer == LayerDNS && r.Dst != "" {
		return privateFix(r)
	}
	if r.Layer == LayerLog || strings.HasSuffix(r.Name, ".arpa") || r.Rule != "" {
		return "", ""
	}
	return AllowEntry(cmp.Or(r.Name, r.Dst), r.Port, r.Proto), "allow"
}

// privateFix mends a name that was allowed but led to a private address. No
// entry opens a loopback, link-local (metadata) or similar address by name.
func privateFix(r Record) (entry, list string) {
	addr, err := netip.ParseAddr(r.Dst)
	if err != nil || !addr.Unmap().IsPrivate() {
		return "", ""
	}
	return r.Name, "private"
}

// AllowEntry writes the allowlist entry for host and port: without the port
// when it is 0 and, for a name, when it is one of those that an entry without a
// port opens anyway. An address is no site, so its port is always named.
func AllowEntry(host string, port uint16, proto firewall.Proto) string {
	if host == "" {
		return ""
	}
	addr, err := netip.ParseAddr(host)
	bare := port == 0 || (err != nil && proto != firewall.UDP && (port == 80 || port == 443))
	isV6 := err == nil && addr.Is6()
	switch {
	case bare:
		return host
	case isV6:
		host = "[" + host + "]"
	}
	entry := host + ":" + strconv.Itoa(int(port))
	if proto == firewall.UDP {
		entry += "/udp"
	}
	return entry
}

// DeniedHosts lists the hosts with at least one denied row, sorted, each once.
func (r *Report) DeniedHosts() []string {
	var hosts []string
	for _, row := range r.Rows {
		if row.Verdict == firewall.Deny && row.Host != "" {
			hosts = append(hosts, row.Host)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
