package amend

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// WithPorts gives the names of services of the project's Compose file the ports that these
// listen on, where a request to allow them names none: a bare name would open 80 and 443.
// notes say so.
func (p Place) WithPorts(r Request) (_ Request, notes []string) {
	if p.Project == "" || r.List != "allow" || r.Remove {
		return r, nil
	}
	services := detect.Services(p.Project).Services
	var entries []string
	for _, entry := range r.Entries {
		found := false
		for _, s := range services {
			if name, _, _ := strings.Cut(s.Value, ":"); name == strings.TrimSpace(entry) {
				entries, found = append(entries, s.Value), true
				notes = append(notes, fmt.Sprintf("%s is a service of %s: %s is meant", name, s.Where(), s.Value))
			}
		}
		if !found {
			entries = append(entries, entry)
		}
	}
	r.Entries = entries
	return r, notes
}

// Joining is what a change means for the network of the project's dev container, whose
// devcontainer.json names it.
type Joining struct {
	Before, After []byte // devcontainer.json; the same text when nothing changes
	// Network is the one of the services that are opened, as the engine knows it, and Services
	// are those; "" = the change opens none, or the dev container cannot join theirs.
	Network  string
	Services []string
	name     string // of the network that is joined or left, as devcontainer.json has it
}

// Changes reports whether devcontainer.json becomes another text.
func (j Joining) Changes() bool { return !bytes.Equal(j.Before, j.After) }

// joining decides it, for a request that makes after of the settings before. A dev container
// of Compose is in its network already, and the agent of claude-strict stays in its own.
func (p Place) joining(r Request, before, after *settings.File) (j Joining, err error) {
	if p.Project == "" || r.List != "allow" {
		return j, nil
	}
	j.Before = scaffold.Folder(p.Project).Read(scaffold.ConfigPath)
	j.After = j.Before
	if len(j.Before) == 0 || templates.Composed(j.Before) {
		return j, nil
	}
	report := detect.Services(p.Project)
	var asked []string
	for _, entry := range r.Entries {
		asked = append(asked, namesOf(strings.TrimSpace(entry))...)
	}
	open := func(f *settings.File) []string {
		n := f.Settings.Network
		names := report.PrivateNames(n.Allow)
		return slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(n.Private, name) })
	}
	was, now := open(before), open(after)
	if !slices.ContainsFunc(asked, func(name string) bool { return slices.Contains(was, name) || slices.Contains(now, name) }) {
		return j, nil
	}
	if j.name = report.NetworkOf(now); j.name == "" {
		if j.name = report.NetworkOf(was); j.name != "" {
			j.After = templates.Leave(j.Before, j.name)
		}
		return j, nil
	}
	if j.After, err = templates.Join(j.Before, j.name); err == nil && templates.Joins(j.After, j.name) {
		j.Network, j.Services = detect.EngineName(j.name, p.Project), now
	}
	return j, err
}

// write puts the text into devcontainer.json, and nothing over what somebody else wrote
// meanwhile.
func (j Joining) write(p Place) error {
	if !j.Changes() {
		return nil
	}
	return atomicfile.Replace(p.Config(), j.Before, j.After)
}

// Config is the path of the project's devcontainer.json.
func (p Place) Config() string { return scaffold.Folder(p.Project).Path(scaffold.ConfigPath) }

// judge decides a request, with the network that the dev container needs for it.
func (p Place) judge(file *settings.File, r Request) (*Edit, error) {
	after, notes, err := decide(file, r)
	if err != nil {
		return nil, err
	}
	edit := &Edit{Before: file.Source, After: after.Source, Notes: notes}
	edit.Joining, err = p.joining(r, file, after)
	return edit, err
}
