package firewall

import (
	"fmt"
	"net/netip"
)

// RuleLoopback is the rule of what is decided because the address is loopback's.
const RuleLoopback = "loopback"

// RefusedHeaders is the decision about a packet that is refused for its headers.
func RefusedHeaders() Decision {
	return Decision{Deny, "no options", "packets with IP options or extension headers do not leave the sandbox, wherever they go"}
}

// Refused says why the rules refused a packet to addr, for somebody to read:
// the verdict is Deny in every case. name is the allowed name that the
// resolver last gave addr out for, "" when there is none. proto is TCP, UDP or
// any other word for a protocol.
//
// The Rule is empty when an allowlist entry would open the destination, and
// names what stands against it otherwise, be it an entry or a property of the
// sandbox ("no icmp").
func (p *Policy) Refused(name string, addr netip.Addr, port uint16, proto Proto) Decision {
	if p.mode == ModeNone {
		d, _ := p.byMode()
		return d
	}
	addr = addr.Unmap().WithZone("")
	switch {
	case proto != TCP && proto != UDP:
		return Decision{Deny, "no " + string(proto), "only TCP and UDP leave the sandbox"}
	case addr == engineResolver:
		return Decision{Deny, "resolver", addr.String() + " is the container engine's resolver, which only the sandbox's own may ask"}
	case addr.IsLoopback():
		return Decision{Deny, RuleLoopback, addr.String() +
			" is a loopback address: it is open over loopback, but for the machine's resolver, and over no other interface"}
	}
	if d := dnsPort(port); !d.Allowed() {
		return d
	}
	want := Port{port, proto}
	opens := func(e *entry) bool { return e.opens(want) }
	if e := p.deniesAddr(addr, opens); e != nil {
		return denied(e, addr.String())
	}
	if e := p.allow.addr(addr, opens); e != nil {
		return Decision{Deny, e.rule, addr.String() + " is on the allowlist, but the packet belongs to no open connection"}
	}
	if name != "" {
		if e := p.deny.name(name, opens); e != nil {
			return denied(e, name)
		}
		if e := p.allow.name(name, opens); e != nil {
			return Decision{Deny, e.rule, fmt.Sprintf("%s is on the allowlist, but %s is no longer open for it: resolve the name again", name, addr)}
		}
	}
	d := p.Decide(name, addr, port, proto)
	if d.Allowed() { // mode audit, which lets out what belongs to the internet
		return Decision{Deny, RuleAround, addr.String() + " is on the sandbox's own network, or the packet belongs to no open connection"}
	}
	if class, what := classify(addr); class == classMetadata || class == classInvalid {
		if p.mode != ModeAudit { // there the reason says so already
			d.Reason += ", which is " + what
		}
		return Decision{Deny, "no special address", d.Reason}
	}
	return Decision{Deny, "", d.Reason}
}
