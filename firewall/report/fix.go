package report

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// The lists of "network" that an entry can be added to.
const (
	listAllow   = "allow"
	listPrivate = "private"
)

// fixFor returns the entry that would have let r pass and the list it belongs
// to. Only what no entry decided can be mended by adding one.
func fixFor(r audit.Record) (entry, list string) {
	if r.Verdict != firewall.Deny || firewall.IsMetadataName(r.Name) {
		return "", ""
	}
	if r.Layer == audit.LayerDNS && r.Dst != "" {
		if entry = audit.PrivateFix(firewall.Network{}, r); entry == "" {
			return "", ""
		}
		return entry, listPrivate
	}
	if r.Layer == audit.LayerLog || strings.HasSuffix(r.Name, ".arpa") || r.Rule != "" {
		return "", ""
	}
	return audit.AllowEntry(cmp.Or(r.Name, r.Dst), r.Port, r.Proto), listAllow
}

// maxFixes bounds the rows that an entry is offered for. Nobody pastes more,
// and an agent that tries every port of an address must not keep us busy.
const maxFixes = 1000

// confirm takes back every entry that the matcher does not accept, or that
// would not open the row's destination beside the policy in force.
func (r *Report) confirm(inForce firewall.Network) {
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.offer = i < maxFixes; !row.offer {
			row.Fix, row.FixList = "", ""
		}
	}
	all, ok := withEntries(inForce, r.Fixes(listAllow), r.Fixes(listPrivate)) // suspect ones are looked at alone
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Fix == "" {
			continue
		}
		// Nearly always the row's own entry decides among all of them.
		if ok && row.FixList == listAllow {
			if d := row.decide(all); d.Allowed() && d.Rule == row.Fix {
				continue
			}
		}
		own := inForce
		if strings.TrimSpace(row.Fix) != row.Fix { // the matcher would forgive that, what is pasted elsewhere may not
			row.Fix, row.FixList = "", ""
			continue
		}
		if row.FixList == listPrivate {
			own.Private = append(slices.Clone(own.Private), row.Fix)
		} else {
			own.Allow = append(slices.Clone(own.Allow), row.Fix)
		}
		policy, errs := firewall.NewPolicy(own)
		if len(errs) > 0 || !row.opened(policy) {
			row.Fix, row.FixList = "", ""
		}
	}
}

// withEntries is the policy in force with all entries added that are such; ok
// is false when there is no policy.
func withEntries(inForce firewall.Network, allow, private []string) (p *firewall.Policy, ok bool) {
	wider := inForce
	wider.Allow = append(slices.Clone(inForce.Allow), allow...)
	wider.Private = append(slices.Clone(inForce.Private), private...)
	p, errs := firewall.NewPolicy(wider)
	if len(errs) == 0 {
		return p, true
	}
	bad := map[string]bool{}
	for _, e := range errs {
		bad[e.List+" "+e.Entry] = true
	}
	without := func(list string, entries []string) []string {
		return slices.DeleteFunc(entries, func(e string) bool { return bad[list+" "+e] })
	}
	wider.Allow, wider.Private = without(listAllow, wider.Allow), without(listPrivate, wider.Private)
	p, errs = firewall.NewPolicy(wider)
	return p, len(errs) == 0
}

// decide asks the policy for the row's destination.
func (row *Row) decide(p *firewall.Policy) firewall.Decision {
	if addr, ok := row.isAddress(); ok {
		return p.Decide("", addr, row.Port, cmp.Or(row.Proto, firewall.TCP))
	}
	if row.Port == 0 {
		return p.DecideName(row.Host)
	}
	return p.Decide(row.Host, netip.Addr{}, row.Port, row.Proto)
}

// opened reports whether the policy lets the row's destination pass.
func (row *Row) opened(p *firewall.Policy) bool {
	if row.FixList == listPrivate {
		return p.DecideAnswer(row.Host, row.dst).Allowed() // the name itself was allowed
	}
	return row.decide(p).Allowed()
}
