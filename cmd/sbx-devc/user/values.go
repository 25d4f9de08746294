package user

import (
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/run"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/settings/trust"
)

// settingsKeys are the settings that run's flags stand for.
var settingsKeys = map[string]string{
	"network": "network.mode", "allow": "network.allow", "whitelist": "network.allow", "whitelist-file": "network.allow",
	"preset": "network.presets", "deny": "network.deny", "private": "network.private", "env-prefix": "envPrefixes", "secret": "secrets",
	"user-instructions": "instructions", "workspace": "workspace.mode", "no-mount": "workspace.mode", "mount": "mounts",
	"image": "image", "memory": "limits.memory", "cpus": "limits.cpus", "cpu": "limits.cpus", "pids": "limits.pids",
	"disk": "limits.disk", "timeout": "limits.timeout",
}

// SettingsOf are the settings of a run on dir with where each value is from. source
// names the flag or variable of each flag that was given; profile is "" for none.
func SettingsOf(a *cli.App, o run.SettingsFlags, profile, dir string, source map[string]string) ([]settings.Value, error) {
	user, err := o.Read(dir)
	if err != nil {
		return nil, err
	}
	own, users, err := run.UserLayers(a, dir, profile)
	if err != nil {
		return nil, run.PlanError(a, err)
	}
	project, err := session.ReadProject(dir)
	if err != nil {
		return nil, run.PlanError(a, err)
	}
	options := runplan.Options{
		Layers:      runplan.Layers{User: user, Own: own},
		Environment: runplan.Environment{NoSecrets: o.Secrets.NoSecrets, MCPServers: o.Mcp.Servers},
	}
	if len(project.Content()) > 0 { // also of a dev container without settings
		t, err := run.TrustOf(a, project)
		if err != nil {
			return nil, err
		}
		options.TrustProject = t.Standing() == trust.Trusted
	}
	s, err := project.Effective(options)
	if errors.Is(err, runplan.ErrWidens) {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: %v; it is left out here, and 'run' asks about it\n", err)
		project.Settings = nil
		s, err = project.Effective(options)
	}
	if err != nil {
		return nil, err
	}
	if note := project.UnheldNote(options, s); note != "" {
		a.SayLine("note: %s", note)
	}
	chosen := s.Image == ""
	if chosen {
		if err := project.ChooseImage(options); err != nil {
			return nil, err
		}
		s.Image = project.Choice.Name
		a.SayLine("note: %s", project.Choice.Why)
	}
	layers := []settings.Layer{{Settings: user, Origin: func(key string) string {
		for flag, from := range source {
			if settingsKeys[flag] == key {
				return from
			}
		}
		return "run" // what run adds by itself
	}}}
	if project.Settings != nil {
		layers = append(layers, settings.Layer{
			Settings: project.Settings.Settings.Settings, File: project.Settings, Origin: func(string) string { return "project" }})
	}
	if options.TrustProject {
		if file := project.Recipe.OptionsIn(project.Dir); file != nil { // a firewall Feature's
			layers = append(layers, settings.Layer{Settings: file.Settings.Settings, File: file, Origin: func(string) string { return "project" }})
		}
	}
	values := settings.Origins(s.Settings, append(layers, users...))
	for i := range values {
		if v := &values[i]; chosen && v.Key == settingsKeys["image"] {
			v.Origin, v.File = project.Choice.Origin()
		}
	}
	return ownVariables(a, values), nil
}

// ownVariables puts the variables of flags that are no settings in the place of the values
// of the user's own file alone.
func ownVariables(a *cli.App, values []settings.Value) []settings.Value {
	for key, flag := range map[string]string{settings.KeyModel: "model", settings.KeySandboxMode: run.ModeFlag} {
		name := run.VariableOf(flag)
		text := a.Getenv(name)
		if text == "" {
			continue
		}
		values = slices.DeleteFunc(values, func(v settings.Value) bool { return v.Key == key })
		values = append(values, settings.Value{Key: key, Text: text, Origin: "variable " + name})
	}
	return values
}

func showValues(a *cli.App, values []settings.Value, origin, asJSON bool) error {
	if asJSON {
		return cli.PrintJSON(a.Stdout, struct {
			SchemaVersion int              `json:"schemaVersion"`
			Settings      []settings.Value `json:"settings"`
		}{1, values})
	}
	table := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	for _, v := range values {
		line := v.Key + "\t" + v.Shown()
		if origin {
			line += "\t" + v.Origin
			if v.File != "" {
				line += " " + visible.Line(v.File)
			}
			if v.Line > 0 {
				line += fmt.Sprintf(":%d", v.Line)
			}
		}
		fmt.Fprintln(table, line)
	}
	return table.Flush()
}
