package sandbox

import (
	"slices"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/settings"
)

// RunChange is the part of a change of a project's settings that a run takes while
// it works, with notes about what it does not take. A run is never opened further
// than a new one by the same settings: presets that only a person's session needs
// stay closed, pages of gists too, and what the run denies it goes on denying, because
// its flags may have asked for that.
func RunChange(c settings.Change) (settings.Change, []string) {
	var notes []string
	session := func(p string) bool { return slices.Contains(settings.SessionPresets(), p) }
	for _, p := range c.Add.Presets {
		if session(p) {
			notes = append(notes, "the preset "+p+" stays closed: only a person's session needs it")
		}
	}
	c.Add.Presets = slices.DeleteFunc(slices.Clone(c.Add.Presets), session)
	if runplan.ClosesGists(firewall.Network{Presets: c.Add.Presets, Allow: c.Add.Allow}) {
		c.Add.Deny = append(slices.Clone(c.Add.Deny), runplan.Gists)
	}
	for _, entry := range c.Remove.Deny {
		notes = append(notes, entry+" stays denied until it ends: it may have been started so")
	}
	c.Remove.Deny = nil
	return c, notes
}
