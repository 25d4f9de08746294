package firewall

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/internal/diag"
)

// Policy is a Network that has been understood. It never changes after
// NewPolicy, so any number of goroutines may ask it.
type Policy struct {
	network    Network // as it was written
	mode       Mode
	guard      Guard
	allow      matcher
	deny       matcher
	private    matcher
	inbound    []uint16
	operations *operation.Rules // of the typed entries of network.Allow; nil = there are none
	around     []netip.Prefix   // see Around
}

// Around returns the policy for a machine that is on these networks and has these
// gateways. Behind their addresses are neighbours or the machine's host, so a name
// leads there only if "private" has it, whether or not the addresses are private.
// Networks without a bit are left out: they are everything.
func (p *Policy) Around(networks []netip.Prefix) *Policy {
	there := *p
	there.around = nil
	for _, n := range networks {
		if n.IsValid() && n.Bits() > 0 {
			there.around = append(there.around, n.Masked())
		}
	}
	return &there
}

// surrounds reports whether an address, or the IPv4 address in one of a tunnel, is
// around the machine.
func (p *Policy) surrounds(addr netip.Addr) bool {
	if inner, _, ok := inside(addr); ok && p.surrounds(inner) {
		return true
	}
	return slices.ContainsFunc(p.around, func(n netip.Prefix) bool { return n.Contains(addr) })
}

// NewPolicy understands a Network. It reports everything that is wrong at
// once, in the order of the file's lists; the Policy is nil when anything is.
func NewPolicy(n Network) (*Policy, []EntryError) {
	var errs []EntryError
	p := &Policy{network: Network{Mode: n.Mode, Guard: n.Guard}, mode: cmp.Or(n.Mode, ModeAllowlist), guard: cmp.Or(n.Guard, GuardSNI)}
	modes := []string{string(ModeNone), string(ModeAllowlist), string(ModeAudit), string(ModeHost)}
	if !slices.Contains(modes, string(p.mode)) {
		errs = append(errs, unknown("mode", string(n.Mode), modes).asEntry("mode", 0))
	}
	if guards := []string{string(GuardSNI), string(GuardOff)}; !slices.Contains(guards, string(p.guard)) {
		errs = append(errs, unknown("guard", string(n.Guard), guards).asEntry("guard", 0))
	}
	if errs = append(errs, p.add(n)...); len(errs) > 0 {
		return nil, errs
	}
	return p, nil
}

// Closed returns the policy without an entry, in mode allowlist.
func Closed() *Policy { return &Policy{mode: ModeAllowlist, guard: GuardSNI} }

// Validate returns what is wrong with a Network, as NewPolicy does.
func Validate(n Network) []EntryError {
	_, errs := NewPolicy(n)
	return errs
}

// ValidAllow reports whether an entry may stand in "allow".
func ValidAllow(entry string) bool { return Validate(Network{Allow: []string{entry}}) == nil }

// With returns the policy with the entries of more's lists behind its own. Its mode
// and its guard stay. No entry of its own is read again: it copies the index of each
// list that more has entries for, and shares the others. Errors are NewPolicy's;
// their places are those in more.
func (p *Policy) With(more Network) (*Policy, []EntryError) {
	wider := *p
	if len(more.Presets)+len(more.Allow) > 0 {
		wider.allow = p.allow.clone()
	}
	if len(more.Deny) > 0 {
		wider.deny = p.deny.clone()
	}
	if len(more.Private) > 0 {
		wider.private = p.private.clone()
	}
	wider.inbound = slices.Clip(p.inbound)
	if errs := wider.add(more); len(errs) > 0 {
		return nil, errs
	}
	return &wider, nil
}

// At returns the policy without the entries of "allow" that neither speak of the target
// nor name operations. It decides about the target as p does, with the same entries added
// to both as well, and With costs little there.
func (p *Policy) At(t Target) *Policy {
	there := *p
	there.allow, there.network.Presets, there.network.Allow = matcher{}, nil, nil
	if p.operations != nil {
		for i := range p.allow.entries {
			e := &p.allow.entries[i]
			if !e.typed {
				continue
			}
			there.allow.add(*e)
			if !slices.Contains(there.network.Allow, e.rule) { // one text may open several hosts
				there.network.Allow = append(there.network.Allow, e.rule)
			}
		}
	}
	plain := func(e *entry) bool {
		if !e.typed {
			there.allow.add(*e)
		}
		return true
	}
	if name, err := CanonicalName(t.Name); err == nil {
		p.allow.byName(name, plain)
	}
	if t.Addr.IsValid() {
		p.allow.byAddr(t.Addr.Unmap().WithZone(""), plain)
	}
	return &there
}

// InMode returns the policy in another mode.
func (p *Policy) InMode(m Mode) *Policy {
	other := *p
	other.mode, other.network.Mode = m, m
	return &other
}

// add understands the lists of n, and keeps them as they are written. No other policy
// may share the indexes that n has entries for.
func (p *Policy) add(n Network) []EntryError {
	p.network.Presets = append(slices.Clip(p.network.Presets), n.Presets...)
	p.network.Allow = append(slices.Clip(p.network.Allow), n.Allow...)
	p.network.Deny = append(slices.Clip(p.network.Deny), n.Deny...)
	p.network.Private = append(slices.Clip(p.network.Private), n.Private...)
	p.network.Inbound = append(slices.Clip(p.network.Inbound), n.Inbound...)
	from, errs := p.addPresets(n.Presets)
	fail := func(list string, index int, bad *problem) { errs = append(errs, bad.asEntry(list, index)) }
	read := func(list string, texts []string, into *matcher, check func(*entry) *problem) {
		for i, text := range texts {
			e, bad := parseHostEntry(list, text)
			if bad == nil {
				bad = check(&e)
			}
			if bad != nil {
				fail(list, i, bad)
				continue
			}
			into.add(e)
		}
	}
	for i, text := range n.Allow {
		entries, bad := p.readAllow(text)
		if bad != nil {
			fail("allow", i, bad)
			continue
		}
		for _, e := range entries {
			p.allow.add(e)
			from = append(from, source{"allow", i, text})
		}
	}
	read("deny", n.Deny, &p.deny, func(*entry) *problem { return nil })
	read("private", n.Private, &p.private, func(e *entry) *problem {
		switch {
		case e.name == "":
			return complain("add it to allow: an address entry needs nothing more", "%q is an address, and this list holds names", e.rule)
		case e.ports != nil:
			return complain(hintWrite(strings.SplitN(e.rule, ":", 2)[0]), "%q has a port, and this list holds names", e.rule)
		}
		return nil
	})
	for i, port := range n.Inbound {
		if port < 1 || port > 65535 {
			fail("inbound", i, complain("use a port from 1 to 65535", "port %d is out of range", port))
			continue
		}
		p.inbound = append(p.inbound, uint16(port))
	}
	if errs = append(errs, p.findPassed(from)...); len(errs) == 0 {
		errs = p.compileOperations(n.Allow)
	}
	slices.SortStableFunc(errs, inOrder)
	return errs
}

// addPresets adds the entries of presets to allow. It returns the preset that each of them is from.
func (p *Policy) addPresets(names []string) (from []source, errs []EntryError) {
	for i, name := range names {
		texts, ok := Preset(name)
		switch {
		case ok:
		case operation.Typed(name):
			errs = append(errs, complain("add it to allow", "%q is no preset, and names operations", name).asEntry("presets", i))
		default:
			errs = append(errs, unknown("preset", name, PresetNames()).asEntry("presets", i))
		}
		for _, text := range texts {
			e, bad := parseEntry(text)
			if bad != nil { // a test reads every preset, so this is a slip of ours
				errs = append(errs, bad.asEntry("presets", i))
				continue
			}
			e.rule = "preset:" + name + " " + text
			p.allow.add(withWebPorts(e))
			from = append(from, source{"presets", i, name})
		}
	}
	return from, errs
}

// inOrder compares complaints by their places in a Network.
func inOrder(a, b EntryError) int {
	order := []string{"mode", "guard", "presets", "allow", "deny", "private", "inbound"}
	return cmp.Or(slices.Index(order, a.List)-slices.Index(order, b.List), a.Index-b.Index)
}

// Network returns what the policy was made of, as it is written. It is the
// policy's own: whoever changes a list clones it first.
func (p *Policy) Network() Network { return p.network }

// Mode returns the mode, with the default filled in.
func (p *Policy) Mode() Mode { return p.mode }

// Resolves reports whether the sandbox's own resolver answers: in modes
// allowlist and audit.
func (p *Policy) Resolves() bool { return p.mode == ModeAllowlist || p.mode == ModeAudit }

// Guarded reports whether some connections to learned addresses must pass the guard:
// in mode allowlist, unless guard is "off", and in mode audit where entries name
// operations.
func (p *Policy) Guarded() bool { return len(p.guardedPorts()) > 0 }

// Guards reports whether connections to learned addresses on port must pass the
// guard.
func (p *Policy) Guards(port Port) bool { return slices.Contains(p.guardedPorts(), port) }

// GuardsAddresses reports whether connections that address entries open must pass it,
// too, on the ports that it guards: a host at which entries name operations could have
// such an address.
func (p *Policy) GuardsAddresses() bool {
	return p.mode == ModeAllowlist && p.Guarded() && p.operations != nil
}

func (p *Policy) guardedPorts() []Port {
	switch {
	case p.mode == ModeAllowlist && p.guard != GuardOff:
		return webPorts
	case p.mode == ModeAudit && p.operations != nil: // to record operations; nothing is refused
		return []Port{judgedPort}
	}
	return nil
}

// Inbound returns the TCP ports that may be connected to from outside.
func (p *Policy) Inbound() []uint16 { return slices.Clone(p.inbound) }

func withWebPorts(e entry) entry {
	if e.ports == nil {
		e.ports = webPorts
	}
	return e
}

// maxAccepted is how many accepted words a hint lists next to a suggestion.
const maxAccepted = 12

// unknown says that a word is none of the accepted ones, and which it was
// probably meant to be.
func unknown(kind, word string, accepted []string) *problem {
	hint := "use one of: " + strings.Join(accepted, ", ")
	if best := diag.Suggest(word, accepted); best != "" {
		all := "accepted: " + strings.Join(accepted, ", ")
		if len(accepted) > maxAccepted {
			all = "'sbx-devc policy presets' lists all" // the only list that is so long
		}
		hint = fmt.Sprintf("did you mean %q? %s", best, all)
	}
	return complain(hint, "unknown %s %q", kind, word)
}
