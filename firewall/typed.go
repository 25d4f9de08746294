package firewall

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall/operation"
)

// Operations judges the requests at the hosts of typed entries; nil when the policy
// has none. Each of these hosts is on the allowlist as well, on its port alone.
func (p *Policy) Operations() *operation.Rules { return p.operations }

// TypedEntries returns the typed entries that speak of a host, as they are written,
// the most specific first.
func (p *Policy) TypedEntries(name string) (entries []string) {
	canonical, err := CanonicalName(name)
	if err != nil {
		return nil
	}
	p.allow.byName(canonical, func(e *entry) bool {
		if e.typed && !slices.Contains(entries, e.rule) {
			entries = append(entries, e.rule)
		}
		return true
	})
	return entries
}

// judgedPort is the one port at which operations are judged: connections to it go
// to the guard, and they are TLS.
var judgedPort = Port{443, TCP}

// source is where an entry of a Network stands.
type source struct {
	list  string
	index int
	text  string
}

func (s source) complain(bad *problem) EntryError { return bad.asEntry(s.list, s.index) }

// readAllow understands a text of "allow". A typed one is an entry for each host
// that it opens.
func (p *Policy) readAllow(text string) ([]entry, *problem) {
	if operation.Typed(text) {
		return p.readTyped(text)
	}
	e, bad := parseEntry(text)
	if bad == nil {
		bad = e.tooWide()
	}
	return []entry{withWebPorts(e)}, bad
}

func (p *Policy) readTyped(text string) ([]entry, *problem) {
	alone, problems := operation.Compile([]string{text})
	if len(problems) > 0 {
		return nil, complain(problems[0].Hint, "%s", problems[0].Message)
	}
	if p.guard == GuardOff {
		return nil, complain(`remove "guard": "off", or write the host alone`, "%q needs the guard, which judges its operations", text)
	}
	var entries []entry
	for _, h := range alone.Hosts() {
		e := entry{rule: text, name: h.Name, wildcard: h.Wildcard, ports: []Port{{h.Port, TCP}}, typed: true}
		if e.ports[0] != judgedPort {
			return nil, complain("leave the port out, or write the host with its port alone: then all of it is open",
				"%q names port %d, and operations are judged on port %d alone", text, h.Port, judgedPort.Number)
		}
		if bad := cmp.Or(checkScripts(h.Name), e.tooWide()); bad != nil {
			return nil, bad
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// passedBy reports whether a plain entry leads past the judgement of a typed one:
// it opens a web port of a site that the typed one means. Port 80 counts, because
// a server may do there without TLS what it does on 443, and UDP does, for HTTP/3.
func (e *entry) passedBy(plain *entry) bool {
	web := func(port Port) bool { return port.Number == 80 || port.Number == judgedPort.Number }
	return !plain.typed && slices.ContainsFunc(plain.ports, web) && e.overlaps(plain)
}

// findPassed complains about hosts that are open whole and by operations, where one
// of the two entries is new. The last entries of allow are new, from where they stand.
func (p *Policy) findPassed(from []source) (errs []EntryError) {
	old, typed := len(p.allow.entries)-len(from), 0
	for at := range p.allow.entries {
		t, others := &p.allow.entries[at], p.allow.entries
		if !t.typed {
			continue
		}
		if typed++; typed > operation.MaxEntries {
			return errs // compileOperations says so
		}
		if at < old {
			others = others[old:]
		}
		for i := range others {
			if !t.passedBy(&others[i]) {
				continue
			}
			whose := at - old
			if at < old {
				whose = i
			}
			hint := "remove one of the two: nothing is judged at a host that is open whole"
			if rest, ok := strings.CutPrefix(others[i].rule, "preset:"); ok {
				preset, _, _ := strings.Cut(rest, " ")
				hint = fmt.Sprintf("take the preset out ('sbx-devc preset --remove %s'), and add what else of it is needed", preset)
			}
			errs = append(errs, from[whose].complain(complain(hint,
				"%q names operations, and %s opens the host whole", t.rule, others[i].rule)))
			break
		}
	}
	return errs
}

// compileOperations makes Operations of every typed entry of the policy, of which
// those in added are new.
func (p *Policy) compileOperations(added []string) (errs []EntryError) {
	if !slices.ContainsFunc(added, operation.Typed) {
		return nil
	}
	typed := slices.DeleteFunc(slices.Clone(p.network.Allow), func(text string) bool { return !operation.Typed(text) })
	var problems []operation.Problem
	p.operations, problems = operation.Compile(typed)
	for _, bad := range problems { // each entry is right alone, so this is about several
		text := typed[bad.Index]
		errs = append(errs, source{"allow", max(0, slices.Index(added, text)), text}.complain(complain(bad.Hint, "%s", bad.Message)))
	}
	return errs
}

// parseHostEntry is parseEntry for lists that take no typed entries.
func parseHostEntry(list, text string) (entry, *problem) {
	if operation.Typed(text) {
		return entry{}, complain("write the host alone", "%q names operations, and %s holds hosts", text, list)
	}
	return parseEntry(text)
}

// alone is a typed entry with what it means without the others.
type alone struct {
	source
	hosts []entry
	rules *operation.Rules
}

// readAlone reads the typed entries of an allowlist that NewPolicy has accepted.
func (p *Policy) readAlone(texts []string) (out []alone) {
	for i, text := range texts {
		if !operation.Typed(text) {
			continue
		}
		hosts, bad := p.readTyped(text)
		rules, problems := operation.Compile([]string{text})
		if bad == nil && len(problems) == 0 {
			out = append(out, alone{source{"allow", i, text}, hosts, rules})
		}
	}
	return out
}

// reviewTyped says what is probably not meant by one typed entry among others.
func (p *Policy) reviewTyped(t alone, others []alone) *problem {
	if by := p.DeniedBy(t.text); by != "" {
		return complain("remove one of the two", "%s has no effect: %s in deny wins", t.text, by)
	}
	for _, o := range others {
		if o.rules.Includes(t.rules) && (o.index < t.index || !t.rules.Includes(o.rules)) {
			return complain("remove it", "%s is covered by %s", t.text, o.text)
		}
	}
	for i := range t.hosts {
		h := &t.hosts[i]
		if bad := h.opensMore(); bad != nil {
			return bad
		}
		for j := range p.allow.entries {
			if o := &p.allow.entries[j]; !o.typed && o.name != "" && h.overlaps(o) {
				return complain("remove it, unless whatever that port takes may be sent there",
					"%s opens %s there, where no operation is judged", o.rule, portsInWords(o.ports))
			}
		}
	}
	return nil
}

// opensHTTP3 complains about an address entry that opens the port of HTTP/3, which no
// guard reads, where entries name operations.
func (p *Policy) opensHTTP3(e *entry) *problem {
	if p.operations == nil || !e.prefix.IsValid() || !e.opens(Port{judgedPort.Number, UDP}) {
		return nil
	}
	return complain("remove it, unless no host of an entry about operations has an address there",
		"%s opens HTTP/3, where no operation is judged", e.rule)
}

func portsInWords(ports []Port) string {
	words := make([]string, len(ports))
	for i, port := range ports {
		words[i] = port.String()
	}
	return strings.Join(words, ", ")
}
