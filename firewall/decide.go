package firewall

import (
	"fmt"
	"net/netip"
	"strings"
)

// RuleUnlisted is the rule of what mode audit lets out and mode allowlist would
// not, so that whoever reads the records knows what the allowlist lacks.
const RuleUnlisted = "would be denied: no allowlist entry"

// RuleAround is the rule of what is refused because it is around the machine,
// though its address is none of a private range.
const RuleAround = "no surroundings"

// DecideName says whether name may be resolved at all, for any port. The name
// may be in any form that CanonicalName accepts. Mode host allows every name,
// and mode audit all but those under deny and under "invalid" (RFC 6761 section
// 6.4), which no resolver outside need be asked for.
func (p *Policy) DecideName(name string) Decision {
	if d, done := p.byMode(); done {
		return d
	}
	canonical, err := CanonicalName(name)
	if err != nil {
		return Decision{Deny, "", err.Error()}
	}
	if e := p.deny.name(canonical, wholeEntry); e != nil {
		return denied(e, canonical)
	}
	e := p.allow.name(canonical, anyEntry)
	if e == nil {
		if strings.HasSuffix(canonical, ".invalid") {
			return unlisted(canonical)
		}
		return p.unlessAudit(unlisted(canonical))
	}
	if len(p.ports(canonical)) == 0 {
		return denied(p.deny.name(canonical, anyEntry), canonical)
	}
	return allowed(e, canonical)
}

// Decide says whether a connection may be made. With name "" the address
// alone decides; with a zero addr the name is not resolved yet and is decided
// on its own. proto is TCP or UDP: nothing else ever leaves the sandbox.
//
// Mode audit allows what no entry matches as RuleUnlisted, unless the address
// is not the internet's or the port is one of DNS's. A name under deny cannot be
// resolved there, but whoever knows its address needs no name.
func (p *Policy) Decide(name string, addr netip.Addr, port uint16, proto Proto) Decision {
	if d, done := p.byMode(); done {
		return d
	}
	want := Port{port, proto}
	opens := func(e *entry) bool { return e.opens(want) }
	canonical := ""
	if name != "" {
		var err error
		if canonical, err = CanonicalName(name); err != nil {
			return Decision{Deny, "", err.Error()}
		}
		if e := p.deny.name(canonical, opens); e != nil {
			return denied(e, canonical)
		}
	}
	if addr.IsValid() {
		// The kernel matches the plain IPv4 address, whatever form a program used.
		addr = addr.Unmap().WithZone("")
		if e := p.deniesAddr(addr, opens); e != nil {
			return denied(e, addr.String())
		}
		if e := p.allow.addr(addr, opens); e != nil {
			return Decision{Allow, e.rule, addr.String() + " is on the allowlist by address"}
		}
	}
	if p.mode == ModeAudit {
		if d := dnsPort(port); !d.Allowed() {
			return d
		}
	}
	if canonical == "" {
		if !addr.IsValid() {
			return Decision{Deny, "", "neither a name nor an address is given"}
		}
		if class, what := classify(addr); p.mode == ModeAudit && class != classGlobal {
			return Decision{Deny, "", addr.String() + " is " + what}
		}
		if e := p.allow.addr(addr, anyEntry); e != nil {
			return p.unlessAudit(otherPort(e, e.ports, want))
		}
		return p.unlessAudit(unlisted(addr.String()))
	}
	e := p.allow.name(canonical, opens)
	if e == nil && p.mode != ModeAudit {
		return p.notOpened(canonical, want)
	}
	if addr.IsValid() {
		if d := p.answer(canonical, addr); !d.Allowed() {
			return d
		}
	}
	if e == nil {
		return p.unlessAudit(p.notOpened(canonical, want))
	}
	return allowed(e, canonical)
}

// deniesAddr returns the deny entry that means the address or the IPv4 address
// inside it; nil when there is none.
func (p *Policy) deniesAddr(addr netip.Addr, want func(*entry) bool) *entry {
	if e := p.deny.addr(addr, want); e != nil {
		return e
	}
	if inner, _, ok := inside(addr); ok {
		return p.deny.addr(inner, want)
	}
	return nil
}

// notOpened says in which way the entries that match name do not open want.
func (p *Policy) notOpened(name string, want Port) Decision {
	if e := p.allow.name(name, anyEntry); e != nil {
		return otherPort(e, p.ports(name), want)
	}
	return unlisted(name)
}

// dnsPort refuses the ports of DNS, which lead to the sandbox's own resolver or
// past it.
func dnsPort(port uint16) Decision {
	switch port {
	case 53:
		return Decision{Deny, "resolver", "names are resolved by the sandbox's own resolver only"}
	case 853:
		return Decision{Deny, "resolver", "DNS over TLS or QUIC would go past the sandbox's resolver"}
	}
	return Decision{Verdict: Allow}
}

// Ports returns the ports that the entries matching name open, sorted; nil
// when no entry does, and in modes none and host.
func (p *Policy) Ports(name string) []Port {
	canonical, err := CanonicalName(name)
	if err != nil || !p.Resolves() {
		return nil
	}
	return p.ports(canonical)
}

// DecideAnswer says whether addr is acceptable as an answer for name. It
// refuses what lies in a deny network and, so that a name cannot be rebound to
// the sandbox's surroundings, every address that is not the internet: private
// ones and those of Around unless the name is under "private", metadata services and addresses
// that are no destination always. An allow entry for the address itself
// overrides both. It does not ask whether the name is allowed.
func (p *Policy) DecideAnswer(name string, addr netip.Addr) Decision {
	if d, done := p.byMode(); done {
		return d
	}
	canonical, err := CanonicalName(name)
	if err != nil {
		return Decision{Deny, "", err.Error()}
	}
	if !addr.IsValid() {
		return Decision{Deny, "", "the answer holds no address"}
	}
	return p.answer(canonical, addr.WithZone(""))
}

func (p *Policy) answer(name string, addr netip.Addr) Decision {
	// A deny network means the place, so it also holds for a disguise of it.
	if e := p.deniesAddr(addr.Unmap(), wholeEntry); e != nil {
		return denied(e, addr.String())
	}
	if e := p.allow.addr(addr, anyEntry); e != nil {
		return Decision{Allow, e.rule, addr.String() + " is on the allowlist by address"}
	}
	class, what := classify(addr)
	rule := ""
	if class == classGlobal {
		if !p.surrounds(addr) {
			return Decision{Allow, "", addr.String() + " is an address of the internet"}
		}
		class, what, rule = classPrivate, "on the sandbox's own network or an address of its host", RuleAround
	}
	if class == classPrivate {
		if e := p.private.name(name, anyEntry); e != nil {
			return Decision{Allow, e.rule, name + " may resolve to private addresses"}
		}
	}
	return Decision{Deny, rule, fmt.Sprintf("%s resolves to %s, which is %s", name, addr, what)}
}

// DecideAlias says whether name may be an alias (CNAME) of target. The target
// need not be listed, because the customers of a delivery network are aliases
// of names that they do not know; but a target under deny stays denied.
func (p *Policy) DecideAlias(name, target string) Decision {
	d := p.DecideName(name)
	if !d.Allowed() || !p.Resolves() {
		return d
	}
	canonical, err := CanonicalName(target)
	if err != nil {
		return Decision{Deny, "", fmt.Sprintf("%s is an alias of a text that is no name: %s", name, err)}
	}
	if e := p.deny.name(canonical, wholeEntry); e != nil {
		return Decision{Deny, e.rule, fmt.Sprintf("%s is an alias of %s, which the deny list names", name, canonical)}
	}
	return d
}

// byMode decides what the mode alone decides.
func (p *Policy) byMode() (d Decision, done bool) {
	switch p.mode {
	case ModeNone:
		return Decision{Deny, "mode none", "the sandbox has no network (mode none)"}, true
	case ModeHost:
		return Decision{Allow, "mode host", "there is no firewall (mode host)"}, true
	}
	return Decision{}, false
}

// allowed is the decision for a name that an allow entry matches.
func allowed(e *entry, name string) Decision {
	if e.typed {
		return Decision{Allow, e.rule, name + " is open for the operations that entries name, and each request is judged"}
	}
	return Decision{Allow, e.rule, name + " is on the allowlist"}
}

func denied(e *entry, what string) Decision {
	return Decision{Deny, e.rule, what + " is on the deny list"}
}

// unlessAudit turns the refusal of what no entry opens into what mode audit makes of it.
func (p *Policy) unlessAudit(d Decision) Decision {
	if p.mode == ModeAudit {
		return Decision{Allow, RuleUnlisted, "would be denied: " + d.Reason}
	}
	return d
}

func unlisted(what string) Decision {
	return Decision{Deny, "", "no allowlist entry matches " + what}
}

func otherPort(e *entry, ports []Port, want Port) Decision {
	return Decision{Deny, e.rule, fmt.Sprintf("the allowlist opens %s there, not %s", portsInWords(ports), want)}
}
