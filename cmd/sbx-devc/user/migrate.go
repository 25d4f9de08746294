package user

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/cmd/sbx-devc/run"
	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/migrate"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// migrateOptions are the flags of migrate.
type migrateOptions struct{ dryRun, yes bool }

func MigrateCommand(a *cli.App) *cobra.Command {
	var o migrateOptions
	cmd := &cobra.Command{
		Use:   "migrate [DIR]",
		Short: "Take over the parts of your Claude Code configuration that a sandbox can have",
		Long: `Read your configuration of Claude Code (~/.claude or CLAUDE_CONFIG_DIR, ~/.claude.json),
and put the parts that the sandbox can have into your own settings: the model, your instructions,
skills, commands, agents and output styles, hosts of permissions, presets for the package
managers that you allowed, MCP servers. Each part that is left is named with the reason.
The files of the project in DIR (default: the current folder) are named, and never taken:
your settings hold for all projects.

Only values that are known to be harmless are taken and shown: a server with
arguments beyond plain flags and the name of its package is left, its variables become
references by name. A host with a part that looks random is left. Your texts go into a
run as they are: keep secrets out of them. The difference comes first, and one question
on a terminal. Comments and all that your settings say already stay as they are.

Exit code 0: written, or there is nothing to take; 64: wrong usage; 65: your settings are
wrong, or CLAUDE_CONFIG_DIR is inside the project or its repository; 66: there is no folder
DIR; 73: your settings cannot be written; 77: you did not say yes.`,
		Example: `  sbx-devc migrate --dry-run
  sbx-devc migrate
  sbx-devc migrate --yes`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return take(cmd.Context(), a, o, append(args, ".")[0])
		},
	}
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show what would be taken, and write nothing")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "write without a question")
	return cmd
}

func take(ctx context.Context, a *cli.App, o migrateOptions, dir string) error {
	if info, err := os.Stat(dir); err != nil {
		return exitcode.With(exitcode.NoInput, err)
	} else if !info.IsDir() {
		return exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("%s is no folder", dir), "name the project's folder"))
	}
	own, err := projects.OwnFolder(a)
	if err != nil {
		return err
	}
	projectsHere := []string{dir, "."} // whose .env may have set the variables
	projectsHere = slices.DeleteFunc(projectsHere, func(dir string) bool { return workspace.CheckFolder(dir) != nil })
	var file *settings.File
	for _, project := range append(projectsHere, "") {
		if file, err = session.OwnSettings(own, project); err != nil {
			return run.PlanError(a, err)
		}
	}
	have, old := settings.Settings{}, []byte(nil)
	if file != nil {
		have, old = file.Settings.Settings, file.Source
	}
	sources := claudeSources(a, dir, have)
	for _, project := range projectsHere {
		if err := userdir.Outside("your Claude Code", sources.Claude, project, "CLAUDE_CONFIG_DIR"); err != nil {
			return exitcode.With(exitcode.Config, err)
		}
	}
	plan := migrate.Read(sources)
	showMigration(a, plan)
	name := own.File(session.OwnSettingsName)
	before := old
	if before == nil {
		before = []byte("{\n}\n")
	}
	after, err := settings.Extend(name, before, plan.Take, plan.Model, settings.DirReader(filepath.Dir(name)))
	if err != nil {
		return exitcode.With(exitcode.Internal, diag.WithHint(err, "%s is as it was", name))
	}
	switch {
	case !bytes.Equal(before, after):
	case len(plan.Taken) == 0: // what was left has its reasons
		return nil
	default:
		a.SayLine("%s has all of it already", name)
		return nil
	}
	fmt.Fprintf(cli.Shown(a.Stdout), "%s", diff.Diff(name, old, name, after))
	if o.dryRun {
		return nil
	}
	if err := agreed(ctx, a, o.yes, name); err != nil {
		return err
	}
	if err := own.Make(); err != nil {
		return exitcode.With(exitcode.CantWrite, err)
	}
	if old == nil {
		if _, err = os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			err = atomicfile.WriteBytes(name, 0o600, after)
		}
	} else {
		err = atomicfile.Replace(name, old, after)
	}
	if err != nil {
		return exitcode.With(exitcode.CantWrite, fmt.Errorf("writing your settings: %w", err))
	}
	a.SayLine("wrote %s; 'sbx-devc settings show --origin' shows what a run gets", name)
	return nil
}

// agreed asks whether the file may be written.
func agreed(ctx context.Context, a *cli.App, yes bool, name string) error {
	if yes {
		return nil
	}
	refused := exitcode.With(exitcode.Refused, diag.WithHint(cli.ErrNothingWritten, "--yes writes it where there is no terminal"))
	questions := a.Questions()
	if questions == nil {
		return refused
	}
	ok, err := questions.Confirm(ctx, "Write "+visible.Line(name)+"?", true)
	if err != nil {
		return cli.Unanswered(err)
	}
	if !ok {
		return exitcode.With(exitcode.Refused, cli.ErrNothingWritten)
	}
	return nil
}

// claudeSources are where Claude Code keeps its configuration for this user.
func claudeSources(a *cli.App, dir string, have settings.Settings) migrate.Sources {
	home := a.Getenv("HOME")
	if found, err := os.UserHomeDir(); err == nil {
		home = found
	}
	s := migrate.Sources{Claude: filepath.Join(home, ".claude"), State: filepath.Join(home, ".claude.json"), Project: projects.Real(dir)}
	if folder := a.Getenv("CLAUDE_CONFIG_DIR"); folder != "" {
		s.Claude, s.State = folder, filepath.Join(folder, ".claude.json")
	}
	s.HasSecret = func(name string) bool {
		return slices.ContainsFunc(have.Secrets, func(s settings.Secret) bool { return s.Name == name })
	}
	return s
}

func showMigration(a *cli.App, plan *migrate.Plan) {
	show := func(title string, items []migrate.Item) {
		if len(items) == 0 {
			return
		}
		fmt.Fprintf(a.Stderr, "%s\n", title)
		for _, i := range items {
			line := "  " + i.What
			if i.Why != "" {
				line += ": " + i.Why
			}
			fmt.Fprintf(a.Stderr, "%s  (%s)\n", visible.Line(line), visible.Line(i.From))
		}
	}
	show("Taken:", plan.Taken)
	show("Left:", plan.Left)
	if len(plan.Taken)+len(plan.Left) == 0 {
		a.SayLine("there is no configuration of Claude Code here")
	}
}
