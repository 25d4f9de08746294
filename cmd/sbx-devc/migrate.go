package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/migrate"
	"github.com/org/claude-sandbox/settings"
)

// migrateOptions are the flags of migrate.
type migrateOptions struct{ dryRun, yes bool }

func (a *app) migrateCommand() *cobra.Command {
	var o migrateOptions
	cmd := &cobra.Command{
		Use:   "migrate [DIR]",
		Short: "Take over what of your Claude Code configuration a sandbox can have",
		Long: `Read your configuration of Claude Code (~/.claude or CLAUDE_CONFIG_DIR, ~/.claude.json),
and put into your own settings what the sandbox can have: the model, your instructions,
skills, commands, agents and output styles, hosts of permissions, presets for the package
managers that you allowed, MCP servers. What is left is named with the reason. The files of
the project in DIR (default: the current folder) are named, and never taken: your settings
hold for all projects.

No secret is taken: the variables of a server become references by name. The difference
comes first, and one question on a terminal. Comments and all that your settings say
already stay as they are.

Exit code 0: written, or there is nothing to take; 64: wrong usage; 65: your settings are
wrong; 73: they cannot be written; 77: nobody said yes.`,
		Example: `  sbx-devc migrate --dry-run
  sbx-devc migrate
  sbx-devc migrate --yes`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.migrate(cmd.Context(), o, append(args, ".")[0])
		},
	}
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show what would be taken, and write nothing")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "write without a question")
	return cmd
}

func (a *app) migrate(ctx context.Context, o migrateOptions, dir string) error {
	own, err := a.ownFolder()
	if err != nil {
		return err
	}
	file, err := session.OwnSettings(own, dir)
	if err != nil {
		return a.planError(err)
	}
	have, old := settings.Settings{}, []byte(nil)
	if file != nil {
		have, old = file.Settings.Settings, file.Source
	}
	plan := migrate.Read(a.claudeSources(dir, have))
	a.showMigration(plan)
	name := own.File(session.OwnSettingsName)
	before := old
	if before == nil {
		before = []byte("{\n}\n")
	}
	after, err := settings.Extend(name, before, plan.Take, plan.Model, settings.DirReader(filepath.Dir(name)))
	if err != nil {
		return exitWith(exitInternal, diag.WithHint(err, "%s is as it was", name))
	}
	if bytes.Equal(before, after) {
		a.sayLine("%s has all of it already", name)
		return nil
	}
	fmt.Fprintf(shown(a.stdout), "%s", diff.Diff(name, old, name, after))
	if o.dryRun {
		return nil
	}
	if err := a.agreed(ctx, o.yes, name); err != nil {
		return err
	}
	if err := own.Make(); err != nil {
		return exitWith(exitCantWrite, err)
	}
	if old == nil {
		if _, err = os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			err = atomicfile.WriteBytes(name, 0o600, after)
		}
	} else {
		err = atomicfile.Replace(name, old, after)
	}
	if err != nil {
		return exitWith(exitCantWrite, fmt.Errorf("writing your settings: %w", err))
	}
	a.sayLine("wrote %s; 'sbx-devc settings show --origin' shows what a run gets", name)
	return nil
}

// agreed asks whether the file may be written.
func (a *app) agreed(ctx context.Context, yes bool, name string) error {
	if yes {
		return nil
	}
	refused := exitWith(exitRefused, diag.WithHint(cli.ErrNothingWritten, "--yes writes it where nobody can be asked"))
	questions := a.cli().Questions()
	if questions == nil {
		return refused
	}
	ok, err := questions.Confirm(ctx, "Write "+visible.Line(name)+"?", true)
	if err != nil {
		return cli.Unanswered(err)
	}
	if !ok {
		return exitWith(exitRefused, cli.ErrNothingWritten)
	}
	return nil
}

// claudeSources are where Claude Code keeps its configuration for this user.
func (a *app) claudeSources(dir string, have settings.Settings) migrate.Sources {
	home := a.getenv("HOME")
	if found, err := os.UserHomeDir(); err == nil {
		home = found
	}
	s := migrate.Sources{Claude: filepath.Join(home, ".claude"), State: filepath.Join(home, ".claude.json"), Project: real(dir)}
	if folder := a.getenv("CLAUDE_CONFIG_DIR"); folder != "" {
		s.Claude, s.State = folder, filepath.Join(folder, ".claude.json")
	}
	s.HasSecret = func(name string) bool {
		for _, secret := range have.Secrets {
			if secret.Name == name {
				return true
			}
		}
		return false
	}
	return s
}

func (a *app) showMigration(plan *migrate.Plan) {
	show := func(title string, items []migrate.Item) {
		if len(items) == 0 {
			return
		}
		fmt.Fprintf(a.stderr, "%s\n", title)
		for _, i := range items {
			line := "  " + i.What
			if i.Why != "" {
				line += ": " + i.Why
			}
			fmt.Fprintf(a.stderr, "%s  (%s)\n", visible.Line(line), visible.Line(i.From))
		}
	}
	show("Taken:", plan.Taken)
	show("Left:", plan.Left)
	if len(plan.Taken)+len(plan.Left) == 0 {
		a.sayLine("there is no configuration of Claude Code here")
	}
}
