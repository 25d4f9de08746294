package changes

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session/decision"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

func ApplyCommand(a *cli.App) *cobra.Command {
	var accept []string
	cmd := &cobra.Command{
		Use:   "apply [RUN]",
		Short: "Make branches of the commits that a run's agent made, and take the files of a run on a copy",
		Long: `Put the commits that a run's agent made into the repository that they were made
for, as the branch sbx/RUN; further branches become sbx/RUN-NAME. Without RUN it is
the newest run of the project around the current folder of which something can be
taken that is not taken yet. A branch that is taken already is no failure.

The agent commits in a git directory of its own. At the end of the run its new
commits were checked by git and put into the run's folder; here git checks them
again. Nothing else of the agent's git directory comes back. Neither files nor the
branch that is checked out change, no hook runs, and a branch that is there already
is never replaced. The names of branches and the messages of commits are the
agent's words.

A run that worked on a copy of the project has changed no file of it: apply takes
the files, too. One that you changed since is left as it is, and named.

First it lists the dangers of the changes, as 'sbx-devc review' does, and on
a terminal asks once. Elsewhere it refuses files that act before anyone runs the project
(git, shells, editors, agents, hooks, CI and installs obey it, or it is not what it
looks like), unless --accept-dangerous names it.

The work of a run whose program was killed is taken by the next 'sbx-devc run', diff,
review, apply or discard, which says so. It is searched for the values that the run's
secrets have now, except for those of a cmd: source, which does not run a second time.

Exit code 1: the repository has another branch of that name, git refuses the commits,
or a file is left as it is; 64: wrong usage; 66: there is no such run, or it left
nothing to take; 73: a file or a branch could not be written, as on a full disk: make
room and apply again; 77: it is dangerous, and was not accepted.`,
		Example: `  sbx-devc apply
  sbx-devc apply 20260102-150405-ab12cd
  git log -p main..sbx/20260102-150405-ab12cd
  git reset sbx/20260102-150405-ab12cd    # the files are there already: take the commits, too
  git merge sbx/20260102-150405-ab12cd    # where your branch has new commits, after you committed the files`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return apply(cmd.Context(), a, accept, args) },
	}
	cmd.Flags().StringArrayVar(&accept, "accept-dangerous", nil, "accept dangerous changes of files that this `GLOB` names; repeatable")
	return cmd
}

func apply(ctx context.Context, a *cli.App, accept, args []string) (err error) {
	if err := checkGlobs(accept); err != nil {
		return err
	}
	meant, err := meantRun(ctx, a, args, decision.ToTake)
	if err != nil {
		return err
	}
	run, err := decision.OpenToTake(projects.Runs(a), meant.Folder)
	if err != nil {
		return err
	}
	defer sayEarlier(a, meant, "apply", &err)
	if !run.HasFiles() && len(run.Commits) == 0 {
		a.SayLine("nothing is left to take of the run %s: everything in it is decided", run.Work.Run)
		return nil
	}
	if err := searchCommits(ctx, a, run); err != nil {
		return err
	}
	reviews, err := run.Offered(ctx)
	if err != nil {
		return err
	}
	what := "Make the branch"
	if run.HasFiles() {
		what = "Take the files into " + run.Project
	}
	if err := confirm(ctx, a, reviews, accept, what); err != nil {
		return err
	}
	var errs []error
	taken := true
	if run.HasFiles() {
		err := settle(a, run, run.All())
		taken, errs = err == nil, append(errs, err)
	}
	for _, some := range run.Commits {
		err := gitdir.Apply(ctx, run.Folder, some)
		if err == nil {
			err = run.NoteBranches(some, true)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		sayApplied(ctx, a, run, some, taken)
	}
	if err := errors.Join(errs...); err != nil {
		return exitcode.With(failureCode(err), err)
	}
	return nil
}

// failureCode is that of work that is not done, or not all of it.
func failureCode(err error) int {
	if code, _ := exitcode.Of(err, exitcode.Failed); code == exitcode.CantWrite || sandbox.IsUnwritten(err) {
		return exitcode.CantWrite
	}
	return exitcode.Failed
}
