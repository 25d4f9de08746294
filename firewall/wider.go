package firewall

import (
	"slices"
	"strconv"
	"strings"
)

// Lacks returns what n lets out that p does not, as Wider does, or what is wrong with n.
func (p *Policy) Lacks(n Network) ([]string, []EntryError) {
	other, errs := NewPolicy(n)
	if errs != nil {
		return nil, errs
	}
	return other.Wider(p), nil
}

// DeniedBy returns the first entry of "deny" that alone takes away all that an entry of
// "allow" would open; "" = none, or the entry is none.
func (p *Policy) DeniedBy(allow string) string {
	asked := Closed()
	if errs := asked.add(Network{Allow: []string{allow}}); errs != nil {
		return ""
	}
	for i := range p.deny.entries {
		d := &p.deny.entries[i]
		if !slices.ContainsFunc(asked.allow.entries, func(e entry) bool { return !d.contains(&e) || !d.opensAll(e.ports) }) {
			return d.rule
		}
	}
	return ""
}

// Wider returns what p lets out that base does not, in the words of p's
// entries; empty means that p only narrows base. It errs on the side of
// "wider": an entry that base covers only by several entries together, such as
// a network by its two halves, is reported.
func (p *Policy) Wider(base *Policy) []string {
	if p.mode.width() > base.mode.width() {
		return []string{"mode " + string(p.mode)}
	}
	if p.mode == ModeNone || base.mode == ModeHost {
		return nil // nothing goes out, or base lets everything out
	}
	var wider []string
	if p.mode == ModeAudit {
		for i := range base.deny.entries {
			if d := &base.deny.entries[i]; !p.deniesAll(d) {
				wider = append(wider, "no deny of "+d.rule)
			}
		}
	}
	for i := range p.allow.entries {
		if e := &p.allow.entries[i]; !p.coveredBy(e, base) {
			wider = append(wider, e.rule)
		}
	}
	for i := range p.private.entries {
		if e := &p.private.entries[i]; base.private.containing(e, anyEntry) == nil {
			wider = append(wider, "private "+e.rule)
		}
	}
	for _, port := range p.inbound {
		if !slices.Contains(base.inbound, port) {
			wider = append(wider, "inbound "+strconv.Itoa(int(port)))
		}
	}
	if p.guard == GuardOff && base.guard != GuardOff {
		wider = append(wider, "guard off")
	}
	return wider
}

// width orders the modes.
func (m Mode) width() int {
	return slices.Index([]Mode{ModeNone, ModeAllowlist, ModeAudit, ModeHost}, m)
}

// coveredBy reports whether everything that p lets out by e, base lets out too.
func (p *Policy) coveredBy(e *entry, base *Policy) bool {
	for _, port := range e.ports {
		opens := func(o *entry) bool { return o.opens(port) }
		if p.deny.containing(e, opens) != nil {
			continue // p takes it away itself
		}
		if !base.opensAs(e, port) && !(base.mode == ModeAudit && e.public()) {
			return false
		}
		for i := range base.deny.entries {
			d := &base.deny.entries[i]
			if !d.opens(port) || !d.overlaps(e) {
				continue
			}
			if p.deny.containing(d, opens) == nil {
				return false
			}
		}
	}
	return true
}

// opensAs reports whether the policy opens a port of all that e means, for at least
// the operations that e names. A plain entry opens it for all.
func (p *Policy) opensAs(e *entry, port Port) bool {
	if p.allow.containing(e, func(o *entry) bool { return !o.typed && o.opens(port) }) != nil {
		return true
	}
	return e.typed && p.operations.Covers(e.rule)
}

// deniesAll reports whether one entry of p denies all that d does.
func (p *Policy) deniesAll(d *entry) bool {
	return p.deny.containing(d, func(own *entry) bool { return own.opensAll(d.ports) }) != nil
}

// public reports whether e means nothing but the internet, which mode audit
// lets out. A name does: where it leads is judged by its addresses.
func (e *entry) public() bool {
	if !e.prefix.IsValid() {
		return true
	}
	return !e.prefix.Addr().IsLoopback() && !slices.ContainsFunc(notInternet(e.prefix.Addr().Is6()), e.prefix.Overlaps)
}

// contains reports whether e means everything that other means, ports aside.
func (e *entry) contains(other *entry) bool {
	if e.prefix.IsValid() || other.prefix.IsValid() {
		return e.prefix.IsValid() && other.prefix.IsValid() &&
			e.prefix.Bits() <= other.prefix.Bits() && e.prefix.Contains(other.prefix.Addr())
	}
	if other.wildcard {
		return e.wildcard && (e.name == other.name || strings.HasSuffix(other.name, "."+e.name))
	}
	return e.matchesName(other.name)
}

// overlaps reports whether something is meant by both. Names and networks are
// nested or apart, never across each other.
func (e *entry) overlaps(other *entry) bool {
	return e.contains(other) || other.contains(e)
}
