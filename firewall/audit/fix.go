package audit

import (
	"net/netip"

	"github.com/org/claude-sandbox/firewall"
)

// Fix returns the entry that opens the target when it is added to the "allow"
// of network. It is "" when the target is open, and when no entry is offered;
// why then says why not. Fix tries the entry instead of guessing. What only mode
// audit lets out counts as closed. Nobody is told how to open a metadata
// service, which hands out the machine's credentials.
func Fix(network firewall.Network, t firewall.Target) (entry, why string) {
	p, errs := firewall.NewPolicy(network)
	if errs != nil {
		return "", ""
	}
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
	network.Allow = append(append([]string(nil), network.Allow...), entry)
	if p, errs = firewall.NewPolicy(network); errs != nil {
		return "", errs[0].Message
	}
	if d := t.Decide(p); !d.Allowed() || d.Rule == firewall.RuleUnlisted {
		return "", d.Reason
	}
	return entry, ""
}

// PrivateFix returns the entry for "private" that would have let the answer
// pass that r is about: an allowed name led to a private address, or to one around
// the machine. It is "" for
// anything else. No entry lets a name lead to a metadata service or loopback.
func PrivateFix(network firewall.Network, r Record) string {
	addr, err := netip.ParseAddr(r.Dst)
	if err != nil || r.Verdict != firewall.Deny || r.Layer != LayerDNS || r.Port != 0 || r.Rule != firewall.RuleAround && !addr.Unmap().IsPrivate() {
		return ""
	}
	network.Private = append(append([]string(nil), network.Private...), r.Name)
	p, errs := firewall.NewPolicy(network)
	if errs != nil || !p.DecideAnswer(r.Name, addr).Allowed() {
		return ""
	}
	return r.Name
}
