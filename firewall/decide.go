package firewall

import (
	"fmt"
	"net/netip"
	"strings"
)

// DecideName says whether name may be resolved at all, for any port. The name
// may be in any form that CanonicalName accepts. Modes audit and host allow
// every name.
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
		return unlisted(canonical)
	}
	if len(p.ports(canonical)) == 0 {
		return denied(p.deny.name(canonical, anyEntry), canonical)
	}
	return Decision{Allow, e.rule, canonical + " is on the allowlist"}
}

// Decide says whether a connection may be made. With name "" the address
// alone decides; with a zero addr the name is not resolved yet and is decided
// on its own. proto is TCP or UDP: nothing else ever leaves the sandbox.
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
		if e := p.deny.addr(addr, opens); e != nil {
			return denied(e, addr.String())
		}
		if e := p.allow.addr(addr, opens); e != nil {
			return Decision{Allow, e.rule, addr.String() + " is on the allowlist by address"}
		}
	}
	if canonical == "" {
		if !addr.IsValid() {
			return Decision{Deny, "", "neither a name nor an address is given"}
		}
		if e := p.allow.addr(addr, anyEntry); e != nil {
			return otherPort(e, e.ports, want)
		}
		return unlisted(addr.String())
	}
	e := p.allow.name(canonical, opens)
	if e == nil {
		if e := p.allow.name(canonical, anyEntry); e != nil {
			return otherPort(e, p.ports(canonical), want)
		}
		return unlisted(canonical)
	}
	if addr.IsValid() {
		if d := p.answer(canonical, addr); !d.Allowed() {
			return d
		}
	}
	return Decision{Allow, e.rule, canonical + " is on the allowlist"}
}

// Ports returns the ports that the entries matching name open, sorted; nil
// when the name is not allowed, and in every mode but allowlist.
func (p *Policy) Ports(name string) []Port {
	canonical, err := CanonicalName(name)
	if err != nil || p.mode != ModeAllowlist {
		return nil
	}
	return p.ports(canonical)
}

// DecideAnswer says whether addr is acceptable as an answer for name. It
// refuses what lies in a deny network and, so that a name cannot be rebound to
// the sandbox's surroundings, every address that is not the internet: private
// ones unless the name is under "private", metadata services and addresses
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
	if e := p.deny.addr(addr.Unmap(), wholeEntry); e != nil {
		return denied(e, addr.String())
	}
	if e := p.allow.addr(addr, anyEntry); e != nil {
		return Decision{Allow, e.rule, addr.String() + " is on the allowlist by address"}
	}
	class, what := classify(addr)
	if class == classGlobal {
		return Decision{Allow, "", addr.String() + " is an address of the internet"}
	}
	if class == classPrivate {
		if e := p.private.name(name, anyEntry); e != nil {
			return Decision{Allow, e.rule, name + " may resolve to private addresses"}
		}
	}
	return Decision{Deny, "", fmt.Sprintf("%s resolves to %s, which is %s", name, addr, what)}
}

// DecideAlias says whether name may be an alias (CNAME) of target. The target
// need not be listed, because the customers of a delivery network are aliases
// of names that they do not know; but a target under deny stays denied.
func (p *Policy) DecideAlias(name, target string) Decision {
	d := p.DecideName(name)
	if !d.Allowed() || p.mode != ModeAllowlist {
		return d
	}
	canonical, err := CanonicalName(target)
	if err != nil {
		return Decision{Deny, "", fmt.Sprintf("%s is an alias of what is no name: %s", name, err)}
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
	case ModeAudit:
		return Decision{Allow, "mode audit", "everything is allowed and recorded (mode audit)"}, true
	case ModeHost:
		return Decision{Allow, "mode host", "there is no firewall (mode host)"}, true
	}
	return Decision{}, false
}

func denied(e *entry, what string) Decision {
	return Decision{Deny, e.rule, what + " is on the deny list"}
}

func unlisted(what string) Decision {
	return Decision{Deny, "", "no allowlist entry matches " + what}
}

func otherPort(e *entry, ports []Port, want Port) Decision {
	words := make([]string, len(ports))
	for i, p := range ports {
		words[i] = p.String()
	}
	return Decision{Deny, e.rule, fmt.Sprintf("the allowlist opens %s there, not %s", strings.Join(words, ", "), want)}
}
