package user

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/cmd/sbx-devc/run"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/settings"
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
and may open what a project's file may not. No other user may be able to write it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(settingsShowCommand(a), settingsCheckCommand(a), settingsPathCommand(a))
	return cmd
}

func settingsShowCommand(a *cli.App) *cobra.Command {
	var profile string
	cmd := showCommand(a, func(args []string) (string, []string, error) { return profile, args, nil })
	cmd.Use, cmd.Short, cmd.Args = "show [DIR] [flags of run]", "Show the settings of a run, and where each comes from", cobra.MaximumNArgs(1)
	cmd.Long = `Show the settings that 'run' with these flags has on the project in DIR (default: the
project around the current folder). A project's file that you have not accepted, and
that asks for more than you allowed, is left out with a note.`
	cmd.Example = `  sbx-devc settings show --origin
  sbx-devc settings show --origin --allow docs.example.com
  sbx-devc settings show --json`
	cmd.Flags().StringVar(&profile, "profile", "", "with the settings of this profile")
	return cmd
}

// showCommand shows the settings of a run under the profile that of finds in the arguments,
// "" = none; the folder is what it leaves of them.
func showCommand(a *cli.App, of func(args []string) (profile string, rest []string, err error)) *cobra.Command {
	var o run.SettingsFlags
	var origin, asJSON bool
	cmd := &cobra.Command{}
	cli.Group(cmd.Flags(), o.Title(), o.Register)
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
		profile, args, err := of(args)
		if err != nil {
			return err
		}
		named := append(args, "")[0]
		dir, _ := projects.RunDir(a, named)
		values, err := SettingsOf(a, o, profile, dir, source)
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
			if file == nil && err == nil {
				fmt.Fprintf(a.Stderr, "sbx-devc: you have no %s\n", folder.File(session.OwnSettingsName))
				return nil
			}
			findings, err := showFindings(a, file, err)
			if err != nil {
				return err
			}
			if diag.Worst(findings, diag.SeverityWarning) > 0 {
				return exitcode.With(exitcode.Findings, nil)
			}
			fmt.Fprintf(a.Stderr, "sbx-devc: %s is valid\n", folder.File(session.OwnSettingsName))
			return nil
		},
	}
}

// showFindings prints what is wrong with a file of the user's, which was read with err.
// The error says that it could not be checked.
func showFindings(a *cli.App, file *settings.File, err error) (findings []diag.Finding, _ error) {
	wrong := (*session.SettingsError)(nil)
	switch {
	case errors.As(err, &wrong):
		findings = wrong.Findings
	case err != nil:
		return nil, exitcode.With(exitcode.NoCheck, cmp.Or(errors.Unwrap(err), err))
	default:
		findings = file.Findings
	}
	if err := diag.WriteExcerpts(a.Stdout, findings, func(name string) []byte { text, _ := os.ReadFile(name); return text }); err != nil {
		return nil, exitcode.With(exitcode.NoCheck, err)
	}
	return findings, nil
}
