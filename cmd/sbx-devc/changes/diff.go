package changes

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/session/decision"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	stat     bool
	nameOnly bool
}

func DiffCommand(a *cli.App) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [RUN | FOLDER]",
		Short: "Show the changes in the project during a run",
		Long: `Show what changed in the project's files while a run worked, as a unified diff:
of the newest run of the project in the current folder that changed any, or of the
run with the id RUN or in FOLDER. Files that git, shells, editors, agents, hooks, CI or builds obey
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
		RunE: func(cmd *cobra.Command, args []string) error { return showDiff(cmd.Context(), a, o, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.stat, "stat", false, "a line for each change instead of the diff")
	f.BoolVar(&o.nameOnly, "name-only", false, "only the paths, control characters as escapes")
	cli.Exclusive(cmd, "stat", "name-only")
	return cmd
}

func showDiff(ctx context.Context, a *cli.App, o diffOptions, args []string) error {
	meant, err := meantRun(ctx, a, args, decision.ToShow)
	if err != nil {
		return err
	}
	folder := meant.Folder
	if o.stat || o.nameOnly {
		set, err := changes.Load(folder)
		if err != nil {
			return exitcode.With(exitcode.Config, err)
		}
		if o.stat {
			return set.WriteAll(a.Stdout)
		}
		for _, path := range set.Paths(len(set.Changes)) {
			if _, err := fmt.Fprintln(a.Stdout, path); err != nil {
				return err
			}
		}
		return nil
	}
	f, err := os.Open(filepath.Join(folder, changes.PatchFile))
	if err != nil {
		return exitcode.With(exitcode.NoInput, err)
	}
	defer f.Close()
	out := cli.Shown(a.Stdout)
	if _, err := io.Copy(out, f); err != nil {
		return err
	}
	if w, ok := out.(*visible.Writer); ok {
		return w.Close()
	}
	return nil
}

// meantRun is the run that is meant. Where that is not the newest one of the project, it
// says so. Runs whose program was killed are cleaned up first, and what they changed is
// looked for.
func meantRun(ctx context.Context, a *cli.App, args []string, purpose decision.Purpose) (decision.Meant, error) {
	project, name, err := projects.Meant(a, args)
	if err != nil {
		return decision.Meant{}, err
	}
	projects.Runs(a).Reap(ctx, name)
	m, err := decision.Find(ctx, projects.Runs(a), project, name, purpose)
	if err == nil && m.Note != "" {
		a.SayLine("note: %s; this is about an earlier run, %s", m.Note, filepath.Base(m.Folder))
	}
	if err == nil {
		err = decision.Finish(ctx, m.Folder, secretValues(a), projects.Runs(a).Accepted)
	}
	return m, err
}

// sayEarlier says at the end of a command without failure that an earlier run waits for it,
// too.
func sayEarlier(a *cli.App, m decision.Meant, command string, failure *error) {
	if m.Earlier != "" && *failure == nil {
		a.SayLine("%s: sbx-devc %s %s", m.Earlier, command, m.EarlierRun)
	}
}
