package audit

import (
	"net/netip"

	"github.com/org/claude-sandbox/firewall"
)

// Fix returns the entry that opens the target when it is added to the policy's
// "allow". It is "" when the target is open, and when no entry is offered; why then
// says why not. Fix tries the entry instead of guessing. A connection that only mode audit lets
// out counts as closed. It never says how to open a metadata service, which gives
// away the machine's credentials.
func Fix(p *firewall.Policy, t firewall.Target) (entry, why string) {
	d := t.Decide(p)
	switch {
	case d.Allowed() && d.Rule != firewall.RuleUnlisted:
		return "", ""
	case t.Odd != "":
		return "", d.Reason
	case t.Addr.IsValid() && firewall.IsMetadata(t.Addr) || firewall.IsMetadataName(t.Name):
		return "", "it is a cloud's metadata service, which hands out the machine's credentials"
	}
	entry = AllowEntry(t.Host(), t.Port, t.Proto)
	wider, bad := p.At(t).With(firewall.Network{Allow: []string{entry}})
	if bad != nil {
		return "", bad[0].Message
	}
	if d := t.Decide(wider); !d.Allowed() || d.Rule == firewall.RuleUnlisted {
		return "", d.Reason
	}
	return entry, ""
}

// PrivateFix returns the entry for the policy's "private" that would have let the
// answer pass that r is about: an allowed name led to a private address, or to one
// around the machine. It is "" for anything else. No entry lets a name lead to a
// metadata service or loopback.
func PrivateFix(p *firewall.Policy, r Record) string {
	addr, err := netip.ParseAddr(r.Dst)
	if err != nil || r.Verdict != firewall.Deny || r.Layer != LayerDNS || r.Port != 0 {
		return ""
	}
	if r.Rule != firewall.RuleAround && !addr.Unmap().IsPrivate() {
		return ""
	}
	wider, bad := p.With(firewall.Network{Private: []string{r.Name}})
	if bad != nil || !wider.DecideAnswer(r.Name, addr).Allowed() {
		return ""
	}
	return r.Name
}
