package settings

import (
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// Entry is one entry of a network list with where it stands: in the settings,
// or in a list file that they name.
type Entry struct {
	List   string // "presets", "allow", "deny" or "private"
	Text   string // without blanks around it, as decisions name it
	File   string
	Line   int // 1-based
	Column int // 1-based, in bytes
}

// Entries returns the entries of the network lists of settings that Parse
// accepts, in the order of the file. Of others it returns what it can read.
func Entries(file string, src []byte, read FileReader) []Entry {
	doc, _ := jsonc.Parse(file, src)
	if doc == nil {
		return nil
	}
	d := &decoder{doc: doc, read: read, places: map[string][]place{}}
	s := d.settings(doc.Root)
	var out []Entry
	for list, texts := range map[string][]string{
		"presets": s.Network.Presets, "allow": s.Network.Allow, "deny": s.Network.Deny, "private": s.Network.Private,
	} {
		for i, text := range texts {
			p := d.places[list][i]
			line, column := p.doc.Position(p.start)
			out = append(out, Entry{list, strings.TrimSpace(text), p.doc.File, line, column})
		}
	}
	slices.SortFunc(out, func(a, b Entry) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return out
}
