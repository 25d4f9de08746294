package report

import (
	"cmp"
	"net/netip"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/operation"
)

// The lists of "network" that an entry can be added to.
const (
	listAllow   = "allow"
	listPrivate = "private"
)

// fixFor returns the entry that would have let r pass and the list it belongs
// to. Only what no entry decided can be opened by adding one.
func fixFor(inForce *firewall.Policy, r audit.Record) (entry, list string) {
	if r.Verdict != firewall.Deny || firewall.IsMetadataName(r.Name) {
		return "", ""
	}
	if r.Operation != "" {
		if r.Wants == "" {
			return "", ""
		}
		return r.Wants, listAllow
	}
	if r.Layer == audit.LayerDNS && r.Dst != "" {
		if entry = audit.PrivateFix(inForce, r); entry == "" {
			return "", ""
		}
		return entry, listPrivate
	}
	if r.Layer == audit.LayerLog || strings.HasSuffix(r.Name, ".arpa") || r.Rule != "" {
		return "", ""
	}
	return audit.AllowEntry(cmp.Or(r.Name, r.Dst), r.Port, r.Proto), listAllow
}

// maxFixes bounds the rows that an entry is offered for. People paste fewer,
// and an agent that tries every port of an address must not keep us busy.
const maxFixes = 200

// confirm takes back every entry that the matcher does not accept, or that would
// not open the row's destination together with the policy in force. fixFor has tried those
// of "private".
func (r *Report) confirm(inForce *firewall.Policy) {
	for i := range r.Rows {
		row := &r.Rows[i]
		row.offer = i < maxFixes
		if row.Fix != "" && !(row.offer && row.confirmed(inForce)) {
			row.Fix, row.FixList = "", ""
		}
	}
}

// confirmed reports whether the row's entry opens its destination, together
// with the policy in force.
func (row *Row) confirmed(inForce *firewall.Policy) bool {
	switch {
	case strings.TrimSpace(row.Fix) != row.Fix: // the matcher would forgive that, what is pasted elsewhere may not
		return false
	case row.FixList == listPrivate:
		return true
	case row.Operation != "":
		return row.confirmedOperation(inForce)
	}
	t := firewall.Target{Name: row.Host, Port: row.Port, Proto: cmp.Or(row.Proto, firewall.TCP)}
	if addr, err := netip.ParseAddr(row.Host); err == nil {
		t.Name, t.Addr = "", addr
	}
	entry, _ := audit.Fix(inForce, t)
	return entry == row.Fix
}

// confirmedOperation reports whether the row's entry is one about operations at its
// host and no other, that the policy takes and lacks. It is shown as it is or not at all.
func (row *Row) confirmedOperation(inForce *firewall.Policy) bool {
	alone, bad := firewall.Closed().With(firewall.Network{Allow: []string{row.Fix}})
	if bad != nil || !operation.Typed(row.Fix) || !alone.Operations().Opens(row.Host, row.Port) ||
		printable(row.Fix) != row.Fix || strings.ContainsAny(row.Fix, `"'`) {
		return false
	}
	_, bad = inForce.At(firewall.Target{Name: row.Host}).With(firewall.Network{Allow: []string{row.Fix}})
	return bad == nil && !inForce.Operations().Covers(row.Fix)
}
