package main

import (
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/settings/trust"
)

func (a *app) settingsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "settings",
		Short: "Show the settings of a run, and check your own",
		Long: `Settings come from the flags of run, SBX_DEVC_* variables, the project's
.devcontainer/sandbox.jsonc, the profile, your own settings.jsonc and defaults, in
this order.

Your own file is in sbx-devc in your folder of settings ($XDG_CONFIG_HOME or
~/.config). It has the form of a sandbox.jsonc, holds for the runs of all projects,
and may open what a project's file may not. Nobody else may be able to write it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.settingsShowCommand(), a.settingsCheckCommand(), a.settingsPathCommand())
	return cmd
}

func (a *app) settingsShowCommand() *cobra.Command {
	var o settingsFlags
	var profile string
	var origin, asJSON bool
	cmd := &cobra.Command{
		Use:   "show [DIR] [flags of run]",
		Short: "Show the settings of a run, and where each comes from",
		Long: `Show the settings that 'run' with these flags has on the project in DIR (default: the
project around the current folder). A project's file that you have not accepted, and
that asks for more than you allowed, is left out with a note.`,
		Example: `  sbx-devc settings show --origin
  sbx-devc settings show --origin --allow docs.example.com
  sbx-devc settings show --json`,
		Args: cobra.MaximumNArgs(1),
	}
	cli.Group(cmd.Flags(), o.title(), o.register)
	cmd.Flags().StringVar(&profile, "profile", "", "with the settings of this profile")
	cmd.Flags().BoolVar(&origin, "origin", false, "also show where each value comes from")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with origins")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := unknownVariables(os.Environ(), a.runCommand().Flags()); err != nil {
			return exitWith(exitUsage, err)
		}
		flags := cmd.Flags()
		source := map[string]string{} // of each flag that has a value
		for flag := range settingsKeys {
			if flags.Changed(flag) {
				source[flag] = "flag --" + flag
			} else if a.getenv(variableOf(flag)) != "" {
				source[flag] = "variable " + variableOf(flag)
			}
		}
		if err := flagsFromEnv(flags, a.getenv); err != nil {
			return exitWith(exitUsage, err)
		}
		named := ""
		if len(args) > 0 {
			named = args[0]
		}
		dir, _ := a.runDir(named)
		values, err := a.settingsOf(o, profile, dir, source)
		if err != nil {
			return err
		}
		choice, err := a.sandboxChoice(&runOptions{sandbox: sandboxFlags{mode: a.getenv(variableOf(modeFlag))}}, named)
		if err != nil {
			return err
		}
		if choice.None {
			a.sayLine("note: sandbox_mode is none (%s): runs have no sandbox, and nothing of this holds for them", choice.Origin)
		}
		return a.showValues(values, origin, asJSON)
	}
	return cmd
}

// settingsKeys are the settings that run's flags stand for.
var settingsKeys = map[string]string{
	"network": "network.mode", "allow": "network.allow", "whitelist": "network.allow", "whitelist-file": "network.allow",
	"preset": "network.presets", "deny": "network.deny", "private": "network.private", "env-prefix": "envPrefixes", "secret": "secrets",
	"user-instructions": "instructions", "workspace": "workspace.mode", "no-mount": "workspace.mode", "mount": "mounts",
	"image": "image", "memory": "limits.memory", "cpus": "limits.cpus", "cpu": "limits.cpus", "pids": "limits.pids",
	"disk": "limits.disk", "timeout": "limits.timeout",
}

// settingsOf are the settings of a run on dir with where each value is from. source
// names the flag or variable of each flag that was given; profile is "" for none.
func (a *app) settingsOf(o settingsFlags, profile, dir string, source map[string]string) ([]settings.Value, error) {
	user, err := o.read(dir)
	if err != nil {
		return nil, err
	}
	own, users, err := a.userLayers(dir, profile)
	if err != nil {
		return nil, a.planError(err)
	}
	project, err := session.ReadProject(dir)
	if err != nil {
		return nil, a.planError(err)
	}
	options := sandbox.Options{User: user, Own: own, NoSecrets: o.secrets.noSecrets, MCPServers: o.mcp.servers}
	if project.Settings != nil {
		t, err := a.trustOf(project)
		if err != nil {
			return nil, err
		}
		options.TrustProject = t.Standing() == trust.Trusted
		if refused := project.Widens(options); refused != nil {
			fmt.Fprintf(a.stderr, "sbx-devc: note: %v; it is left out here, and 'run' asks about it\n", refused)
			project.Settings = nil
		}
	}
	s, err := project.Effective(options)
	if err != nil {
		return nil, err
	}
	if s.Image == project.Choice.Name {
		a.sayLine("note: %s", project.Choice.Why)
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
	return settings.Origins(s, append(layers, users...)), nil
}

func (a *app) showValues(values []settings.Value, origin, asJSON bool) error {
	if asJSON {
		return printJSON(a.stdout, struct {
			SchemaVersion int              `json:"schemaVersion"`
			Settings      []settings.Value `json:"settings"`
		}{1, values})
	}
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
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

// ownSettings reads the user's own file for a run on dir; none is no settings.
func (a *app) ownSettings(dir string) (settings.Settings, *settings.File, error) {
	folder, err := userdir.Find(a.getenv)
	if err != nil {
		return settings.Settings{}, nil, nil // a machine without homes has no such file
	}
	file, err := session.OwnSettings(folder, dir)
	if file == nil || err != nil {
		return settings.Settings{}, nil, err
	}
	return file.Settings.Settings, file, nil
}

func (a *app) settingsPathCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "path",
		Short:   "Print where your own settings are",
		Example: `  $EDITOR "$(sbx-devc settings path)"`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			folder, err := a.ownFolder()
			if err != nil {
				return err
			}
			if err := folder.Make(); err != nil { // so that an editor can write the file
				return exitWith(exitCantWrite, err)
			}
			_, err = fmt.Fprintln(a.stdout, folder.File(session.OwnSettingsName))
			return err
		},
	}
}

func (a *app) settingsCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check your own settings.jsonc",
		Long: `Check your own settings as 'validate' checks a project's. Exit code 0: nothing is
wrong, or there is no file; 1: findings; 3: it could not be read.`,
		Example:     `  sbx-devc settings check`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{annotationChecker: ""},
		RunE: func(*cobra.Command, []string) error {
			folder, err := userdir.Find(a.getenv)
			if err != nil {
				return exitWith(exitNoCheck, err)
			}
			file, err := session.OwnSettings(folder, "")
			wrong := (*session.SettingsError)(nil)
			var findings []diag.Finding
			switch {
			case errors.As(err, &wrong):
				findings = wrong.Findings
			case err != nil:
				return exitWith(exitNoCheck, errors.Unwrap(err))
			case file == nil:
				fmt.Fprintf(a.stderr, "sbx-devc: you have no %s\n", folder.File(session.OwnSettingsName))
				return nil
			default:
				findings = file.Findings
			}
			if err := diag.WriteExcerpts(a.stdout, findings, func(name string) []byte { text, _ := os.ReadFile(name); return text }); err != nil {
				return exitWith(exitNoCheck, err)
			}
			if diag.Worst(findings, diag.SeverityWarning) > 0 {
				return exitWith(exitFindings, nil)
			}
			fmt.Fprintf(a.stderr, "sbx-devc: %s is valid\n", folder.File(session.OwnSettingsName))
			return nil
		},
	}
}
