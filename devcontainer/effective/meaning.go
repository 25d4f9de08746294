package effective

import (
	"slices"

	"github.com/org/claude-sandbox/devcontainer"
)

// Meaning is what a configuration says, and what it amounts to as far as that can be worked out
// without an engine or a registry. The engine's command line follows from it.
type Meaning struct {
	own, merged map[string]string // properties -> values as JSON; merged is nil when the file is refused
}

// MeaningOf works out the meaning of a project's configuration. That of a file that is not well
// formed is empty.
func MeaningOf(p *devcontainer.Project) (m Meaning) {
	if own, ok := valueOf(p.Config.Root).(Object); ok {
		m.own = properties(own)
	}
	if result, err := Compute(p, Options{}); err == nil {
		m.merged = properties(result.Configuration)
	}
	return m
}

func properties(o Object) map[string]string {
	out := make(map[string]string, len(o))
	for _, m := range o {
		value, err := marshal(m.Value)
		if err != nil {
			panic("effective: " + err.Error()) // JSON that was read can be written
		}
		out[m.Name] = string(value)
	}
	return out
}

// Changed lists the properties that another version of the configuration has with another value,
// has not, or has besides: in the file itself or merged, sorted. A version that is refused where
// this one was not has lost every merged property.
func (m Meaning) Changed(after Meaning) (names []string) {
	names = differing(m.own, after.own, names)
	if m.merged != nil {
		names = differing(m.merged, after.merged, names)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func differing(before, after map[string]string, names []string) []string {
	for name, value := range before {
		if now, there := after[name]; !there || now != value {
			names = append(names, name)
		}
	}
	for name := range after {
		if _, there := before[name]; !there {
			names = append(names, name)
		}
	}
	return names
}
