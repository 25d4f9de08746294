package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/session/runs"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	stat     bool
	nameOnly bool
}

func (a *app) diffCommand() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [RUN | FOLDER]",
		Short: "Show the changes in the project during a run",
		Long: `Show what changed in the project's files while a run worked, as a unified diff:
of the newest run of the project in the current folder, or of the run with the id
RUN or in FOLDER. Files that git, shells, editors, agents, hooks, CI or builds obey
come first.

The diff was made from the files themselves when the run ended. The agent cannot
hide a change from it by git's index, ignore rules, attributes or settings. Changes
by others during the run are in it, too.

On a terminal control characters are shown as text. A pipe gets every byte, in the
form that 'git apply' reads; lines that begin with "sbx-devc:" name what is not in
the diff, such as binary, very large or very many files.

Exit code 64: wrong usage; 66: there is no such run.`,
		Example: `  sbx-devc diff
  sbx-devc diff --stat
  sbx-devc diff 20260102-150405-ab12cd | less -R
  sbx-devc diff --name-only`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.diff(o, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.stat, "stat", false, "a line for each change instead of the diff")
	f.BoolVar(&o.nameOnly, "name-only", false, "only the paths, control characters as escapes")
	exclusive(cmd, "stat", "name-only")
	return cmd
}

func (a *app) diff(o diffOptions, args []string) error {
	folder, err := a.changedRun(args)
	if err != nil {
		return err
	}
	if o.stat || o.nameOnly {
		set, err := readChanges(folder)
		if err != nil {
			return exitWith(exitConfig, err)
		}
		if o.stat {
			return set.WriteAll(a.stdout)
		}
		for _, path := range set.Paths(len(set.Changes)) {
			if _, err := fmt.Fprintln(a.stdout, path); err != nil {
				return err
			}
		}
		return nil
	}
	f, err := os.Open(filepath.Join(folder, changes.PatchFile))
	if err != nil {
		return exitWith(exitNoInput, err)
	}
	defer f.Close()
	out := shown(a.stdout)
	if _, err := io.Copy(out, f); err != nil {
		return err
	}
	if w, ok := out.(*visible.Writer); ok {
		return w.Close()
	}
	return nil
}

// changedRun is the folder of the run that is meant.
func (a *app) changedRun(args []string) (string, error) {
	if len(args) == 1 {
		folder := a.runs().Find(args[0])
		if err := runs.CheckSandbox(folder); err != nil {
			return "", err
		}
		if !filekind.IsRegular(filepath.Join(folder, changes.SetFile)) {
			return "", exitWith(exitNoInput, diag.WithHint(fmt.Errorf("%s is no run that kept what changed", args[0]),
				"give a run's id or its folder; runs are kept in %s", a.runs().Dir()))
		}
		return folder, nil
	}
	project, err := a.projectAsked(false, nil)
	if err != nil {
		return "", err
	}
	for id, folder := range a.runs().Newest() {
		if runs.ProjectOf(folder) == project && runs.CheckSandbox(folder) != nil {
			a.sayLine("note: a newer run, %s, %v", id, runs.ErrNoSandbox)
		}
		if runs.ProjectOf(folder) == project && filekind.IsRegular(filepath.Join(folder, changes.SetFile)) {
			return folder, nil
		}
	}
	return "", exitWith(exitNoInput, diag.WithHint(fmt.Errorf("no run of %s in %s", project, a.runs().Dir()),
		"name a run, or go to the project's folder; a run that still works has no changes yet"))
}

func readChanges(folder string) (*changes.Set, error) {
	f, err := os.Open(filepath.Join(folder, changes.SetFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return changes.Read(f)
}
