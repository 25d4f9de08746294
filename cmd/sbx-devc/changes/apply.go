package changes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/shellword"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session/decision"
	"github.com/org/claude-sandbox/session/review"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

func ApplyCommand(a *cli.App) *cobra.Command {
	var accept []string
	cmd := &cobra.Command{
		Use:   "apply [RUN]",
		Short: "Make branches of the commits that a run's agent made, and take the files of a run on a copy",
		Long: `Put the commits that a run's agent made into the repository that they were made
for, as the branch sbx/RUN; further branches become sbx/RUN-NAME. Without RUN it is
the newest run of the project around the current folder.

The agent commits in a git directory of its own. At the end of the run its new
commits were checked by git and put into the run's folder; here git checks them
again. Nothing else of the agent's git directory comes back. Neither files nor the
branch that is checked out change, no hook runs, and a branch that is there already
is never replaced. The names of branches and the messages of commits are the
agent's words.

A run that worked on a copy of the project has changed no file of it: apply takes
the files, too. One that you changed since is left as it is, and named.

First it lists what is dangerous about the changes, as 'sbx-devc review' does, and on
a terminal asks once. Elsewhere it refuses what acts although nobody runs the project
(git, shells, editors, agents, hooks, CI and installs obey it, or it is not what it
looks like), unless --accept-dangerous names it.

The commits of a run whose program was killed are taken by the next 'sbx-devc run',
which says so.

Exit code 1: the repository has another branch of that name, git refuses the commits,
or a file is left as it is; 64: wrong usage; 66: there is no such run, or it left
nothing to take; 77: it is dangerous, and was not accepted.`,
		Example: `  sbx-devc apply
  sbx-devc apply 20260102-150405-ab12cd
  git log -p main..sbx/20260102-150405-ab12cd
  git reset sbx/20260102-150405-ab12cd    # the files are there already: take the commits, too
  git merge sbx/20260102-150405-ab12cd    # where your branch has new commits, after you committed the files`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return apply(cmd.Context(), a, accept, args) },
	}
	cmd.Flags().StringArrayVar(&accept, "accept-dangerous", nil, "accept dangerous changes of what this `GLOB` names; repeatable")
	return cmd
}

func apply(ctx context.Context, a *cli.App, accept, args []string) error {
	if err := checkGlobs(accept); err != nil {
		return err
	}
	run, err := namedRun(a, args)
	if err != nil {
		return err
	}
	if r, ok := projects.Runs(a).Run(run); ok && r.Result == runs.Running {
		return exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("the run %s goes on: its commits are taken when it ends", r.ID),
			"'sbx-devc stop %s' ends it and keeps its work", r.ID))
	}
	f, err := os.Open(filepath.Join(run, sandbox.SummaryFile))
	if err != nil {
		return exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("the run left no summary: %w", err),
			"its commits are taken when it ends; runs are kept in %s", projects.Runs(a).Dir()))
	}
	defer f.Close()
	folder, commits, err := sandbox.ReadCommits(f)
	if err != nil {
		return exitcode.With(exitcode.NoInput, err)
	}
	over, err := decision.Open(projects.Runs(a), run)
	if err != nil {
		return err
	}
	files := !over.InPlace() && over.Undecided() > 0
	if len(commits) == 0 && !files {
		err := fmt.Errorf("the agent of the run %s made no commits in %s", filepath.Base(run), folder)
		if over.InPlace() && len(over.Review.Files) > 0 {
			err = diag.WithHint(err, "the files that it changed are there already: sbx-devc review %s", filepath.Base(run))
		}
		return exitcode.With(exitcode.NoInput, err)
	}
	var errs []error
	var reviews []*review.Review
	what := "Make the branch"
	if files {
		reviews, what = append(reviews, over.Review), "Take the files into "+over.Project
	}
	for _, some := range byBundle(commits) {
		for _, c := range some {
			if gitdir.IsApplied(ctx, c) {
				continue
			}
			r, err := over.OfCommits(ctx, c, some)
			if err != nil {
				return exitcode.With(exitcode.Failed, err)
			}
			reviews = append(reviews, r)
		}
	}
	if err := gate(ctx, a, reviews, accept, what); err != nil {
		return err
	}
	if files {
		errs = append(errs, settle(a, over, over.All()))
	}
	for _, some := range byBundle(commits) {
		if err := gitdir.Apply(ctx, run, some); err != nil {
			errs = append(errs, err)
			continue
		}
		for _, c := range some {
			fmt.Fprintln(a.Stdout, c.Branch)
			from := "no branch"
			if c.From != "" {
				from = strconv.Quote(c.From)
			}
			a.SayLine("%s in %s: commits: %d, made on %s", c.Branch, commitsDir(folder, c), c.Count, from)
		}
		if n := over.Taken.Refused(); n > 0 {
			a.SayLine("warning: you refused %d change(s) of this run, and its commits are as the agent made them, with these: "+
				"'sbx-devc review --commit %s' makes a branch of what you accepted", n, filepath.Base(run))
			continue
		}
		sayNext(ctx, a, commitsDir(folder, some[0]), some[0])
	}
	if err := errors.Join(errs...); err != nil {
		return exitcode.With(exitcode.Failed, err)
	}
	return nil
}

// OfferCommits prints the commands that show the commits of a run at its end and take
// them into the branch that is checked out. They work as printed, in any order.
func OfferCommits(a *cli.App, r *sandbox.Result) {
	for _, some := range byBundle(r.Commits) {
		c := some[0]
		apply := "sbx-devc apply " + r.ID + " && "
		git, branch := gitIn(commitsDir(r.Folder, c)), shellword.Quote(c.Branch)
		a.SayLine("to look at them: %s%s log -p %s", apply, git, newCommits(branch, c.HeadIsBorn))
		if c.KeepsHead {
			// A commit that you make before you paste the line is not in the branch, and
			// the reset would take it out of yours.
			unless := ""
			if c.HeadIsBorn {
				unless = git + " merge-base --is-ancestor HEAD " + branch + " && "
			}
			a.SayLine("to take them into your branch: %s%s%s reset %s", apply, unless, git, branch)
		} else {
			a.SayLine("to take them into your branch, which has commits that they lack, commit the files first, then: %s%s merge %s",
				apply, git, branch)
		}
	}
}

// newCommits are those of a branch that HEAD has not, if there is one.
func newCommits(branch string, headIsBorn bool) string {
	if headIsBorn {
		return "HEAD.." + branch
	}
	return branch
}

// sayNext prints the commands that show the commits of c and take them into the
// branch that is checked out in dir. They work in the current folder as printed,
// and lose no commit that was made in dir while the agent worked.
func sayNext(ctx context.Context, a *cli.App, dir string, c gitdir.Commits) {
	git, branch := gitIn(dir), shellword.Quote(c.Branch)
	keeps, born := gitdir.KeepsHead(ctx, c)
	a.SayLine("to look at them: %s log -p %s", git, newCommits(branch, born))
	if !keeps {
		a.SayLine("your branch has commits that %s lacks, and the agent's files are in the folder already: commit those first, then: "+
			"%s merge %s", c.Branch, git, branch)
		return
	}
	a.SayLine("the files are in the folder already; to take the commits into your branch, too: %s reset %s", git, branch)
}

// gitIn is git's command for the repository in dir, as one types it in the current folder.
func gitIn(dir string) string {
	if here, err := os.Getwd(); err == nil && projects.Real(here) == projects.Real(dir) {
		return "git"
	}
	return "git -C " + shellword.Quote(dir)
}

// commitsDir is the folder whose repository the commits are of.
func commitsDir(folder string, c gitdir.Commits) string {
	return filepath.Join(folder, filepath.FromSlash(c.Repository))
}

// namedRun is the folder of the run that the arguments name, or of the newest one
// of the project around the current folder.
func namedRun(a *cli.App, args []string) (string, error) {
	if len(args) == 0 {
		project, err := projects.OfRuns(a, false, nil)
		if err != nil {
			return "", err
		}
		run, err := projects.Runs(a).NewestOf(false, project)
		if err == nil {
			err = runs.CheckSandbox(run)
		}
		return run, err
	}
	run := projects.Runs(a).Find(args[0])
	if !filekind.IsFolder(run) {
		return "", projects.Runs(a).Unknown("run", args[0])
	}
	if err := runs.CheckSandbox(run); err != nil {
		return "", err
	}
	return filepath.Abs(run)
}

// byBundle groups commits by the repository that they are of.
func byBundle(commits []gitdir.Commits) (groups [][]gitdir.Commits) {
	for _, c := range commits {
		i := slices.IndexFunc(groups, func(g []gitdir.Commits) bool { return g[0].Bundle == c.Bundle })
		if i < 0 {
			groups = append(groups, nil)
			i = len(groups) - 1
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}
