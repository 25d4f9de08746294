package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
)

// Accepted are settings that Parse or Accept has accepted.
type Accepted struct {
	Settings

	policy *firewall.Policy
	places map[string][]place // where the entries of a network list stand
}

// Accept judges settings that were put together of others, all but the network of which
// was judged there. It returns everything that is wrong with that. They have no Entries:
// nothing of them stands in a file.
func Accept(s Settings) (*Accepted, []firewall.EntryError) {
	policy, bad := firewall.NewPolicy(s.Network)
	if bad != nil {
		return nil, bad
	}
	return &Accepted{Settings: s, policy: policy}, nil
}

// Policy is what Network means. It is the one by which the settings were judged.
func (a *Accepted) Policy() *firewall.Policy { return a.policy }

// Entry is one entry of a network list with where it stands: in the settings,
// or in a list file that they name.
type Entry struct {
	List   string // "presets", "allow", "deny" or "private"
	Text   string // without blanks around it, as decisions name it
	File   string
	Line   int // 1-based
	Column int // 1-based, in bytes
}

// Place is FILE:LINE:COLUMN of an entry of a list, "" where the list has none with that
// text.
func (a *Accepted) Place(list, text string) string {
	entries := a.Entries()
	i := slices.IndexFunc(entries, func(e Entry) bool { return e.List == list && e.Text == text })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", entries[i].File, entries[i].Line, entries[i].Column)
}

// Entries returns the entries of the network lists, sorted by their place.
func (a *Accepted) Entries() []Entry {
	var out []Entry
	for list, texts := range map[string][]string{
		"presets": a.Network.Presets, "allow": a.Network.Allow, "deny": a.Network.Deny, "private": a.Network.Private,
	} {
		for i, text := range texts {
			p := a.places[list][i]
			line, column := p.doc.Position(p.start)
			out = append(out, Entry{list, strings.TrimSpace(text), p.doc.File, line, column})
		}
	}
	slices.SortFunc(out, func(a, b Entry) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
	})
	return out
}
