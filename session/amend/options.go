package amend

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/session/recipe"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/settings/trust"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// readOptions reads devcontainer.json, and the options of its firewall Feature as a
// settings file, whose lists stand in the same lines.
func (p Place) readOptions() (config []byte, file *settings.File, err error) {
	config = scaffold.Folder(p.Project).Read(scaffold.ConfigPath)
	switch file, err = recipe.Options(p.File, config); {
	case err != nil:
		return nil, nil, diag.WithHint(err, "sbx-devc validate %s shows everything that is wrong", p.File)
	case file == nil:
		return nil, nil, fmt.Errorf("%s has no firewall Feature whose options can be changed", p.File)
	}
	return config, file, nil
}

// judgeOptions decides a request for the options. The edit is one of devcontainer.json.
func (p Place) judgeOptions(r Request) (*Edit, error) {
	config, file, err := p.readOptions()
	if err != nil {
		return nil, err
	}
	after, notes, err := decide(file, r)
	if err != nil {
		return nil, err
	}
	edit := &Edit{Before: config, After: config, Notes: notes}
	was, now := file.Settings.Network, after.Settings.Network
	for _, list := range []struct {
		name     string
		was, now []string
	}{
		{"presets", was.Presets, now.Presets}, {"allow", was.Allow, now.Allow},
		{"deny", was.Deny, now.Deny}, {"private", was.Private, now.Private},
	} {
		if slices.Equal(list.was, list.now) {
			continue
		}
		if edit.After, err = templates.SetFirewallOption(edit.After, list.name, list.now); err != nil {
			return nil, err
		}
	}
	joining, err := p.joining(r, file, after)
	if err != nil {
		return nil, err
	}
	if joining.Changes() { // the same, in the text with the options
		if joining.Network != "" {
			edit.After, err = templates.Join(edit.After, joining.name)
		} else {
			edit.After = templates.Leave(edit.After, joining.name)
		}
		joining.After = joining.Before
	}
	edit.Joining = joining
	return edit, err
}

// editOptions carries a request out in the options. A dev container whose image the
// user has accepted stays accepted: the bytes that were judged are remembered.
func (p Place) editOptions(r Request) (*Edit, error) {
	edit, err := p.judgeOptions(r)
	if err != nil || bytes.Equal(edit.Before, edit.After) {
		return edit, err
	}
	old := recipe.Accepted(nil, recipe.Read(p.Project), nil)
	if err := p.write(edit); err != nil {
		return nil, fmt.Errorf("writing the options: %w", err)
	}
	const name = recipe.ImagePrefix + scaffold.ConfigPath
	if !bytes.Equal(old[name], edit.Before) {
		return edit, nil
	}
	project, err := trust.Project(p.Project)
	if err == nil {
		_, err = p.Trust.Keep(project, old, old.With(name, edit.After), "allow")
	}
	return edit, err
}

// Preview returns what Edit would do, and does nothing.
func (p Place) Preview(r Request) (*Edit, error) {
	if p.Options {
		return p.judgeOptions(r)
	}
	file, err := p.Read()
	if err != nil {
		return nil, err
	}
	return p.judge(file, r)
}

// OptionsOf returns the place of a project whose policy is in the options of its
// firewall Feature.
func (p Place) OptionsOf() Place {
	p.File, p.Options = filepath.Join(p.Project, filepath.FromSlash(scaffold.ConfigPath)), true
	return p
}
