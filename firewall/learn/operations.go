package learn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/operation"
)

// manyOperations bounds the entries about one host: more are a list of all that an
// agent tried, too long to read.
const manyOperations = 20

// opened are the names at which records have operations: entries about them are
// typed, and a plain one would open all of the host.
func opened(records []audit.Record) map[string]bool {
	names := map[string]bool{}
	for _, r := range records {
		if r.Operation != "" {
			names[r.Name] = true
		}
	}
	return names
}

// operations proposes, for each request that the policy's entries do not allow, the
// narrowest entry that would.
func (l *Lesson) operations(records []audit.Record, policy *firewall.Policy, o Options) {
	wanted := map[string][]Proposal{}
	most := manyOperations
	if o.Data {
		most = operation.MaxEntries
	}
	for _, r := range records {
		entry := r.Wants
		denied := r.Verdict == firewall.Deny
		switch {
		case r.Operation == "", denied && !o.Denied, len(wanted[r.Name]) > most:
			continue
		case entry == "" && !denied && operation.Typed(r.Rule): // allowed then, perhaps by another policy
			entry = r.Rule
		}
		same := func(p Proposal) bool { return p.Entry == entry }
		if !isAbout(entry, r) || policy.Operations().Covers(entry) || slices.ContainsFunc(wanted[r.Name], same) {
			continue
		}
		p := Proposal{List: "allow", Entry: entry, Covers: []string{r.Operation + " at " + r.Name}}
		if denied {
			p.Note = "it was refused"
		}
		wanted[r.Name] = append(wanted[r.Name], p)
	}
	for name, proposals := range wanted {
		if len(proposals) > most {
			why := fmt.Sprintf("more than %d of its operations were tried: write entries with /** for those that are meant", most)
			l.Left = append(l.Left, LeftOut{name, why})
			continue
		}
		l.Add = append(l.Add, proposals...)
	}
}

// isAbout reports whether an entry is about operations at the host of the record, and
// at no other: the record may have been written for another policy.
func isAbout(entry string, r audit.Record) bool {
	if !operation.Typed(entry) || strings.ContainsAny(entry, `"'`) {
		return false
	}
	alone, bad := operation.Compile([]string{entry})
	return len(bad) == 0 && alone.Opens(r.Name, r.Port)
}
