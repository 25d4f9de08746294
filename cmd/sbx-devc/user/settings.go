package user

import (
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/cmd/sbx-devc/run"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/settings/trust"
)

func SettingsCommand(a *cli.App) *cobra.Command {
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
	cmd.AddCommand(settingsShowCommand(a), settingsCheckCommand(a), settingsPathCommand(a))
	return cmd
}

func settingsShowCommand(a *cli.App) *cobra.Command {
	var o run.SettingsFlags
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
	cli.Group(cmd.Flags(), o.Title(), o.Register)
	cmd.Flags().StringVar(&profile, "profile", "", "with the settings of this profile")
	cmd.Flags().BoolVar(&origin, "origin", false, "also show where each value comes from")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with origins")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := run.UnknownVariables(os.Environ(), run.Command(a).Flags()); err != nil {
			return exitcode.With(exitcode.Usage, err)
		}
		flags := cmd.Flags()
		source := map[string]string{} // of each flag that has a value
		for flag := range settingsKeys {
			if flags.Changed(flag) {
				source[flag] = "flag --" + flag
			} else if a.Getenv(run.VariableOf(flag)) != "" {
				source[flag] = "variable " + run.VariableOf(flag)
			}
		}
		if err := run.FlagsFromEnv(flags, a.Getenv); err != nil {
			return exitcode.With(exitcode.Usage, err)
		}
		named := ""
		if len(args) > 0 {
			named = args[0]
		}
		dir, _ := projects.RunDir(a, named)
		values, err := settingsOf(a, o, profile, dir, source)
		if err != nil {
			return err
		}
		choice, err := run.SandboxChoice(a, &run.Options{Sandbox: run.SandboxFlags{Mode: a.Getenv(run.VariableOf(run.ModeFlag))}}, named)
		if err != nil {
			return err
		}
		if choice.None {
			a.SayLine("note: sandbox_mode is none (%s): runs have no sandbox, and nothing of this holds for them", choice.Origin)
		}
		return showValues(a, values, origin, asJSON)
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
func settingsOf(a *cli.App, o run.SettingsFlags, profile, dir string, source map[string]string) ([]settings.Value, error) {
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
	options := sandbox.Options{User: user, Own: own, NoSecrets: o.Secrets.NoSecrets, MCPServers: o.Mcp.Servers}
	if project.Settings != nil {
		t, err := run.TrustOf(a, project)
		if err != nil {
			return nil, err
		}
		options.TrustProject = t.Standing() == trust.Trusted
	}
	s, err := project.Effective(options)
	if errors.Is(err, sandbox.ErrWidens) {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: %v; it is left out here, and 'run' asks about it\n", err)
		project.Settings = nil
		s, err = project.Effective(options)
	}
	if err != nil {
		return nil, err
	}
	if s.Image == project.Choice.Name {
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
	return settings.Origins(s, append(layers, users...)), nil
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

func settingsPathCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "path",
		Short:   "Print where your own settings are",
		Example: `  $EDITOR "$(sbx-devc settings path)"`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			folder, err := projects.OwnFolder(a)
			if err != nil {
				return err
			}
			if err := folder.Make(); err != nil { // so that an editor can write the file
				return exitcode.With(exitcode.CantWrite, err)
			}
			_, err = fmt.Fprintln(a.Stdout, folder.File(session.OwnSettingsName))
			return err
		},
	}
}

func settingsCheckCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check your own settings.jsonc",
		Long: `Check your own settings as 'validate' checks a project's. Exit code 0: nothing is
wrong, or there is no file; 1: findings; 3: it could not be read.`,
		Example:     `  sbx-devc settings check`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{cli.AnnotationChecker: ""},
		RunE: func(*cobra.Command, []string) error {
			folder, err := userdir.Find(a.Getenv)
			if err != nil {
				return exitcode.With(exitcode.NoCheck, err)
			}
			file, err := session.OwnSettings(folder, "")
			wrong := (*session.SettingsError)(nil)
			var findings []diag.Finding
			switch {
			case errors.As(err, &wrong):
				findings = wrong.Findings
			case err != nil:
				return exitcode.With(exitcode.NoCheck, errors.Unwrap(err))
			case file == nil:
				fmt.Fprintf(a.Stderr, "sbx-devc: you have no %s\n", folder.File(session.OwnSettingsName))
				return nil
			default:
				findings = file.Findings
			}
			if err := diag.WriteExcerpts(a.Stdout, findings, func(name string) []byte { text, _ := os.ReadFile(name); return text }); err != nil {
				return exitcode.With(exitcode.NoCheck, err)
			}
			if diag.Worst(findings, diag.SeverityWarning) > 0 {
				return exitcode.With(exitcode.Findings, nil)
			}
			fmt.Fprintf(a.Stderr, "sbx-devc: %s is valid\n", folder.File(session.OwnSettingsName))
			return nil
		},
	}
}
