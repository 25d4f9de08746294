package changes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session/decision"
)

func DiscardCommand(a *cli.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "discard [RUN | FOLDER]",
		Short: "Undo the changes of a run",
		Long: `Give the project's files their state before a run, and remove the branches that
'sbx-devc apply' made of its commits. A file that changed since the run is left as it
is, and named; so is one whose former content the run did not keep. Of a run on a copy
the copy is removed, and the project stays as it is.

Changes that you or others made while the run worked are among those of the run, and
are undone as well. Text comes back with 'sbx-devc diff RUN | git apply'.
Where nothing is left to take back, it says so and asks nothing.

Without RUN it is the newest run of the project about which you have not decided
everything; with --yes it is the newest that left something, so that a second call does
not reach the run before.

No commit is lost: they stay in the run's folder, for as long as that is kept, and
'sbx-devc apply' brings the branches back.

Exit code 1: something is left as it is; 64: wrong usage; 66: there is no such run; 77:
you did not say yes.`,
		Example: `  sbx-devc discard
  sbx-devc discard --yes 20260102-150405-ab12cd`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return discard(cmd.Context(), a, yes, args) },
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do it without a question")
	return cmd
}

func discard(ctx context.Context, a *cli.App, yes bool, args []string) (err error) {
	purpose := decision.ToDiscardUnseen
	if a.Questions() != nil && !yes {
		purpose = decision.ToDiscard
	}
	meant, err := meantRun(ctx, a, args, purpose)
	if err != nil {
		return err
	}
	run, err := decision.Open(meant.Folder)
	if err != nil {
		return err
	}
	defer sayEarlier(a, meant, "discard", &err)
	decided := run.None()
	left, err := nothingLeft(ctx, run, decided)
	if err != nil {
		return err
	}
	if left {
		a.SayLine("nothing is left to take back of the run %s in %s", run.Work.Run, run.Project)
		return refuseBranches(run)
	}
	rows, columns := screen(a)
	fmt.Fprint(cli.Shown(a.Stderr), run.Review.Screen(rows, columns))
	if !yes {
		if err := confirmDiscard(ctx, a, run); err != nil {
			return err
		}
	}
	dropped, errs := run.DropBranches(ctx)
	for _, c := range dropped {
		a.SayLine("removed the branch %s; its commits stay in %s", c.Branch, filepath.Join(run.Folder, c.Bundle))
	}
	if err = errors.Join(errs...); err != nil {
		err = exitcode.With(exitcode.Failed, err)
	}
	err = errors.Join(err, refuseBranches(run))
	switch {
	case run.InPlace():
		return errors.Join(settle(a, run, decided), err)
	case run.Gone:
		return err
	}
	if err := run.RemoveTree(ctx); err != nil {
		return exitcode.With(exitcode.Failed, err)
	}
	a.SayLine("removed %s", run.Tree)
	return err
}

// nothingLeft reports whether the project holds nothing of the run any more, and the run
// has no copy.
func nothingLeft(ctx context.Context, run *decision.Run, decided decision.Taken) (bool, error) {
	if run.HasBranches(ctx) || !run.InPlace() && !run.Gone {
		return false, nil
	}
	if !run.InPlace() {
		return true, nil
	}
	left, err := run.Left(decided)
	if err != nil {
		return false, exitcode.With(exitcode.Internal, err)
	}
	return len(left) == 0, nil
}

// refuseBranches remembers that the user does not want the run's branches.
func refuseBranches(run *decision.Run) error {
	if err := run.NoteBranches(slices.Concat(run.Commits...), false); err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	return nil
}

// confirmDiscard errs without a person's yes.
func confirmDiscard(ctx context.Context, a *cli.App, run *decision.Run) error {
	question := fmt.Sprintf("Restore %s in %s to the state before the run %s?", visible.Count(len(run.Review.Files), "path"), run.Project,
		run.Work.Run)
	if !run.InPlace() {
		question = fmt.Sprintf("Remove the copy of the project in which the run %s worked, with %s?", run.Work.Run,
			visible.Count(len(run.Review.Files), "changed path"))
	}
	if !run.InPlace() && run.Gone || len(run.Review.Files) == 0 {
		question = fmt.Sprintf("Remove the branches that were made of the run %s?", run.Work.Run)
	}
	to := a.Questions()
	if to == nil {
		return exitcode.With(exitcode.Refused, diag.WithHint(errors.New("there is no terminal to ask on; nothing was discarded"),
			"to discard all of it: sbx-devc discard --yes %s", run.Work.Run))
	}
	if said, err := to.Confirm(ctx, question, false); err != nil || !said {
		return errors.Join(cli.Unanswered(err), exitcode.With(exitcode.Refused, errors.New("nothing was discarded: there was no yes")))
	}
	return nil
}
