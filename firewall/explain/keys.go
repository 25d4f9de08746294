package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/operation"
)

// keyOf says which key would go with what is asked about, or why none does; "" = no key
// is bound to anything.
func (p Explainer) keyOf(q Question, a Answer) string {
	used, unused, err := credential.Bind(p.Keys, p.Network().Allow)
	switch {
	case len(p.Keys) == 0:
		return ""
	case err != nil:
		return "none, and no run starts: " + err.Error()
	case p.Mode() != firewall.ModeAllowlist:
		return fmt.Sprintf("none: keys go only through a firewall that is closed by default, and the mode is %s", p.Mode())
	case a.sealed:
		return "none: a key goes with requests that an entry names, and no request to this host is read"
	}
	if q.request != nil && a.Allowed() {
		if b, ok := credential.Which(used, q.request); ok {
			return goes(b)
		}
	}
	if q.entry != "" {
		switch found, whole := credential.WhichOf(used, q.entry); {
		case whole && a.Allowed():
			return goes(found[0])
		case len(found) > 0: // the policy has entries for a part of it
			var part []string
			for _, b := range found {
				part = append(part, b.String())
			}
			return "only with a part of it: " + strings.Join(part, "; ")
		}
	}
	if !a.Allowed() {
		return "none: a refused request goes nowhere"
	}
	return "none: " + p.whyNone(q, used, unused)
}

// goes says that a key goes with what is asked about.
func goes(b credential.Binding) string {
	as := ""
	if b.As != "" {
		as = " as " + b.As
	}
	return fmt.Sprintf("%s goes with it in a run%s, because it is for %s; of dev containers only claude-strict has keys", b.Name, as, b.For)
}

// whyNone says of something that is allowed why no key goes with it.
func (p Explainer) whyNone(q Question, used, unused []credential.Binding) string {
	if q.request != nil && q.request.Method == operation.WebSocket {
		return "a WebSocket gets no key, because its messages pass unread"
	}
	var others []string
	for _, b := range used {
		if goesTo(b, q.hosts) {
			others = append(others, fmt.Sprintf("%s is for %s", b.Name, b.For))
		}
	}
	if len(others) > 0 {
		return strings.Join(others, ", ")
	}
	for _, b := range unused {
		b.Entries = []string{b.For}
		if goesTo(b, q.hosts) {
			others = append(others, fmt.Sprintf("%s is for %s, and the allowlist has no entry of it", b.Name, b.For))
		}
	}
	if len(others) > 0 {
		return strings.Join(others, ", ")
	}
	return "no key is for an entry about " + strings.Join(q.hosts, ", ")
}

// goesTo reports whether a key may go to one of some hosts.
func goesTo(b credential.Binding, hosts []string) bool {
	return slices.ContainsFunc(hosts, func(host string) bool { return b.At(host, 443) })
}
