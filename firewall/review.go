package firewall

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Review says what is probably not meant in the Network that the policy was made
// of: entries without effect, and entries that open more than they seem to. The
// complaints are in the order of the file's lists; none makes the Network
// unusable.
func (p *Policy) Review() []EntryError {
	n, r := p.network, review{}
	switch p.mode {
	case ModeAudit:
		r.say("mode", 0, string(n.Mode), complain(`write "allowlist" when the list is complete`, "the whole internet is open, and recorded"))
	case ModeHost:
		r.say("mode", 0, string(n.Mode), complain(`write "allowlist", or "audit" to learn what the list must hold`, "there is no firewall"))
	}
	for i, name := range n.Presets {
		if slices.Contains(n.Presets[:i], name) {
			r.say("presets", i, name, complain("remove it", "the preset %q is listed already", name))
		}
	}
	denied, before := newCover(p.deny.entries), newCover(nil)
	all := newCover(p.allow.entries)
	fromPresets := newCover(slices.DeleteFunc(slices.Clone(p.allow.entries), func(e entry) bool { return !strings.HasPrefix(e.rule, "preset:") }))
	for _, a := range r.read("allow", n.Allow) {
		a.entry = withWebPorts(a.entry)
		if bad := noEffect(&a.entry, denied, before, fromPresets, all); bad != nil {
			r.say("allow", a.index, a.rule, bad)
		} else {
			r.say("allow", a.index, a.rule, a.opensMore())
		}
		before.add(a.entry)
	}
	earlier := newCover(nil)
	for _, d := range r.read("deny", n.Deny) {
		if o := earlier.of(&d.entry, false); o != nil {
			r.say("deny", d.index, d.rule, complain("remove it", "%s is denied by %s already", d.rule, o.rule))
		}
		earlier.add(d.entry)
	}
	private := r.read("private", n.Private)
	for i, e := range private {
		earlier := slices.IndexFunc(private[:i], func(o listed) bool { return o.contains(&e.entry) })
		switch {
		case earlier >= 0:
			r.say("private", e.index, e.rule, complain("remove it", "%s is covered by %s", e.rule, private[earlier].rule))
		case p.mode != ModeAudit && !slices.ContainsFunc(p.allow.entries, func(o entry) bool { return e.overlaps(&o) }):
			r.say("private", e.index, e.rule, complain("add it to allow with its port, as in "+e.rule+":5432", "%s has no effect: no entry allows it", e.rule))
		}
	}
	return r.found
}

type review struct{ found []EntryError }

// listed is an entry with its place in a list.
type listed struct {
	entry
	index int
}

func (r *review) say(list string, index int, text string, bad *problem) {
	if bad != nil {
		r.found = append(r.found, bad.in(list, index, text))
	}
}

func (r *review) read(list string, texts []string) []listed {
	var out []listed
	for i, text := range texts {
		if e, bad := parseEntry(text); bad == nil { // NewPolicy has accepted it
			out = append(out, listed{e, i})
		}
	}
	return out
}

// opensAll reports whether the entry speaks of all these ports; nil is every port.
func (e *entry) opensAll(ports []Port) bool {
	if e.ports == nil || ports == nil {
		return e.ports == nil
	}
	return !slices.ContainsFunc(ports, func(p Port) bool { return !e.opens(p) })
}

// noEffect says why an allow entry changes nothing: a denial, an entry before
// it, a preset or a wider entry covers it.
func noEffect(e *entry, denied, before, presets, all *cover) *problem {
	if d := denied.of(e, false); d != nil {
		return complain("remove one of the two", "%s has no effect: %s in deny wins", e.rule, d.rule)
	}
	if o := before.of(e, false); o != nil {
		if o.rule == e.rule {
			return complain("remove it", "%s is listed already", e.rule)
		}
		return complain("remove it", "%s is covered by %s", e.rule, o.rule)
	}
	if o := presets.of(e, false); o != nil {
		return complain("remove it", "%s is covered by %s", e.rule, o.rule)
	}
	if o := all.of(e, true); o != nil {
		return complain("remove it", "%s is covered by %s", e.rule, o.rule)
	}
	return nil
}

// cover finds an entry that means all that another one does. It looks names up
// label by label and networks length by length, so that ten thousand entries
// cost milliseconds.
type cover struct {
	names    map[string][]entry // of wildcards with "*." before it
	networks map[netip.Prefix][]entry
}

func newCover(entries []entry) *cover {
	c := &cover{map[string][]entry{}, map[netip.Prefix][]entry{}}
	for _, e := range entries {
		c.add(e)
	}
	return c
}

func (c *cover) add(e entry) {
	switch {
	case e.prefix.IsValid():
		c.networks[e.prefix] = append(c.networks[e.prefix], e)
	case e.wildcard:
		c.names["*."+e.name] = append(c.names["*."+e.name], e)
	default:
		c.names[e.name] = append(c.names[e.name], e)
	}
}

// of returns an entry that covers e on all its ports, the narrowest first; nil
// when there is none. wider leaves out those that mean the same as e.
func (c *cover) of(e *entry, wider bool) *entry {
	fits := func(entries []entry) *entry {
		for i := range entries {
			if o := &entries[i]; o.opensAll(e.ports) && !(wider && e.contains(o)) {
				return &entries[i]
			}
		}
		return nil
	}
	if e.prefix.IsValid() {
		for bits := e.prefix.Bits(); bits >= 0; bits-- {
			if o := fits(c.networks[netip.PrefixFrom(e.prefix.Addr(), bits).Masked()]); o != nil {
				return o
			}
		}
		return nil
	}
	name := e.name
	if e.wildcard {
		if o := fits(c.names["*."+name]); o != nil {
			return o
		}
	} else if o := fits(c.names[name]); o != nil {
		return o
	}
	for {
		_, parent, ok := strings.Cut(name, ".")
		if !ok {
			return nil
		}
		if o := fits(c.names["*."+parent]); o != nil {
			return o
		}
		name = parent
	}
}

// opensMore says what an allow entry opens that one might not expect.
func (e *entry) opensMore() *problem {
	if e.prefix.IsValid() {
		for _, s := range specialRanges {
			if s.class == classMetadata && e.prefix.Contains(s.prefix.Addr()) {
				return complain("leave it out unless the agent may have those credentials", "%s opens %s, %s, which hands out the machine's credentials", e.rule, s.prefix.Addr(), s.what)
			}
		}
		return nil
	}
	if domain, shared := rentedBy(e.name); e.wildcard && shared {
		return complain("name the hosts that are yours", "%s opens names under %s, where anybody can have a host and be sent data", e.rule, domain)
	}
	if shown, like, foreign := foreignName(e.name); foreign {
		text := fmt.Sprintf("%s is the international name %s", e.name, shown)
		if like != "" {
			return complain("compare it letter by letter with where you copied it from", "%s, which looks like %s and is another name", text, like)
		}
		return complain("make sure that it is the one that is meant", "%s", text)
	}
	return nil
}
