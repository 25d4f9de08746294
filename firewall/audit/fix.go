package audit

import "github.com/org/claude-sandbox/firewall"

// Fix returns the entry that opens the target when it is added to the "allow"
// of network; "" when it is open, or when no entry can open it, because "deny"
// has it. It tries the entry instead of guessing. What only mode audit lets out
// counts as closed. Nobody is told how to open a metadata service, which hands
// out the machine's credentials.
func Fix(network firewall.Network, t firewall.Target) string {
	p, errs := firewall.NewPolicy(network)
	if errs != nil {
		return ""
	}
	if d := t.Decide(p); d.Allowed() && d.Rule != firewall.RuleUnlisted {
		return ""
	}
	if t.Addr.IsValid() && firewall.IsMetadata(t.Addr) || firewall.IsMetadataName(t.Name) {
		return ""
	}
	entry := AllowEntry(t.Host(), t.Port, t.Proto)
	network.Allow = append(append([]string(nil), network.Allow...), entry)
	if p, errs = firewall.NewPolicy(network); errs != nil {
		return ""
	}
	if d := t.Decide(p); !d.Allowed() || d.Rule == firewall.RuleUnlisted {
		return ""
	}
	return entry
}
