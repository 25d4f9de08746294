package firewall

import (
	"cmp"
	"fmt"
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
		open := "the whole internet is open, and recorded"
		if p.operations != nil {
			open += ": entries about operations refuse nothing"
		}
		r.note("mode", 0, complain(`write "allowlist" when the list is complete`, "%s", open))
	case ModeHost:
		r.note("mode", 0, complain(`write "allowlist", or "audit" to learn what the list must hold`, "there is no firewall"))
	}
	for i, name := range n.Presets {
		if slices.Contains(n.Presets[:i], name) {
			r.note("presets", i, complain("remove it", "the preset %q is listed already", name))
		}
	}
	var before matcher
	typed := p.readAlone(n.Allow)
	for i, t := range typed {
		r.note("allow", t.index, p.reviewTyped(t, slices.Delete(slices.Clone(typed), i, i+1)))
	}
	for _, a := range readEntries(n.Allow) {
		a.entry = withWebPorts(a.entry)
		if bad := p.noEffect(&a.entry, &before); bad != nil {
			r.note("allow", a.index, bad)
		} else {
			r.note("allow", a.index, cmp.Or(a.opensMore(), p.opensHTTP3(&a.entry)))
		}
		before.add(a.entry)
	}
	var earlier matcher
	for _, d := range readEntries(n.Deny) {
		if o := earlier.containing(&d.entry, opensAllOf(&d.entry)); o != nil {
			r.note("deny", d.index, complain("remove it", "%s is denied by %s already", d.rule, o.rule))
		}
		earlier.add(d.entry)
	}
	private := readEntries(n.Private)
	for i, e := range private {
		earlier := slices.IndexFunc(private[:i], func(o listed) bool { return o.contains(&e.entry) })
		switch {
		case earlier >= 0:
			r.note("private", e.index, complain("remove it", "%s is covered by %s", e.rule, private[earlier].rule))
		case p.mode != ModeAudit && !slices.ContainsFunc(p.allow.entries, func(o entry) bool { return e.overlaps(&o) }):
			r.note("private", e.index, complain("add it to allow with its port, as in "+e.rule+":5432",
				"%s has no effect: no entry allows it", e.rule))
		}
	}
	slices.SortStableFunc(r.found, inOrder)
	return r.found
}

type review struct{ found []EntryError }

// listed is an entry with its place in a list.
type listed struct {
	entry
	index int
}

func (r *review) note(list string, index int, bad *problem) {
	if bad != nil {
		r.found = append(r.found, bad.asEntry(list, index))
	}
}

// readEntries reads the entries of a list, but the typed ones.
func readEntries(texts []string) []listed {
	var out []listed
	for i, text := range texts {
		if e, bad := parseEntry(text); bad == nil { // NewPolicy has accepted it, and typed ones are no hosts
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

// opensAllOf accepts entries that speak of all the ports that e speaks of.
func opensAllOf(e *entry) func(*entry) bool {
	return func(o *entry) bool { return o.opensAll(e.ports) }
}

// noEffect says why an allow entry changes nothing: a denial, an entry before
// it, a preset or a wider entry covers it.
func (p *Policy) noEffect(e *entry, before *matcher) *problem {
	opensAll := opensAllOf(e)
	if d := p.deny.containing(e, opensAll); d != nil {
		return complain("remove one of the two", "%s has no effect: %s in deny wins", e.rule, d.rule)
	}
	earlier := before.containing(e, opensAll)
	if earlier != nil && earlier.rule == e.rule {
		return complain("remove it", "%s is listed already", e.rule)
	}
	preset := p.allow.containing(e, func(o *entry) bool { return strings.HasPrefix(o.rule, "preset:") && opensAll(o) })
	wider := p.allow.containing(e, func(o *entry) bool { return !e.contains(o) && opensAll(o) })
	if o := cmp.Or(earlier, preset, wider); o != nil {
		return complain("remove it", "%s is covered by %s", e.rule, o.rule)
	}
	return nil
}

// opensMore says what an allow entry opens that one might not expect.
func (e *entry) opensMore() *problem {
	if e.prefix.IsValid() {
		for _, s := range specialRanges {
			if s.class == classMetadata && e.prefix.Contains(s.prefix.Addr()) {
				return complain("leave it out unless the agent may have those credentials",
					"%s opens %s, %s, which hands out the machine's credentials", e.rule, s.prefix.Addr(), s.what)
			}
		}
		return nil
	}
	if domain, shared := rentedBy(e.name); e.wildcard && shared {
		return complain("name the hosts that are yours", "%s opens names under %s, where anybody can have a host and be sent data", e.rule,
			domain)
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
