package firewall

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// PresetInfo is a named list of allowlist entries.
type PresetInfo struct {
	Name    string
	Entries []string // in the allowlist's own grammar
	Source  string   // the public page, by name, that says which domains there are
	Note    string   // what a user should know before adding it; may be empty
}

//go:embed presets.txt
var presetsText string

// presets reads presets.txt, which says what its lines are.
var presets = sync.OnceValue(func() (all []PresetInfo) {
	for line := range strings.Lines(presetsText) {
		text, below := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "\t")
		if !below {
			if text != "" && text[0] != '#' {
				all = append(all, PresetInfo{Name: text})
			}
			continue
		}
		p := &all[len(all)-1]
		if source, ok := strings.CutPrefix(text, "source: "); ok {
			p.Source = strings.TrimLeft(p.Source+" "+source, " ")
		} else if note, ok := strings.CutPrefix(text, "note: "); ok {
			p.Note = strings.TrimLeft(p.Note+" "+note, " ")
		} else {
			p.Entries = append(p.Entries, strings.Fields(text)...)
		}
	}
	return all
})

// Presets returns all presets, sorted by name.
func Presets() []PresetInfo {
	out := slices.Clone(presets())
	for i := range out {
		out[i].Entries = slices.Clone(out[i].Entries)
	}
	return out
}

// PresetNames returns the names of all presets, sorted.
func PresetNames() (names []string) {
	for _, p := range presets() {
		names = append(names, p.Name)
	}
	return names
}

// Preset returns the entries of the named preset, in the allowlist's own
// grammar; ok is false when there is none of that name.
func Preset(name string) (entries []string, ok bool) {
	i := slices.IndexFunc(presets(), func(p PresetInfo) bool { return p.Name == name })
	if i < 0 {
		return nil, false
	}
	return slices.Clone(presets()[i].Entries), true
}
