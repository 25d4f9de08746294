package changes

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/shellword"
	"github.com/org/claude-sandbox/session/decision"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// sayApplied says which branches were made of commits that share a bundle, and how to go on. taken
// says that the folder has the files of the run.
func sayApplied(ctx context.Context, a *cli.App, run *decision.Run, made []gitdir.Commits, taken bool) {
	for _, c := range made {
		fmt.Fprintln(a.Stdout, c.Branch)
		from := "no branch"
		if c.From != "" {
			from = strconv.Quote(c.From)
		}
		a.SayLine("%s in %s: commits: %d, made on %s", c.Branch, c.In(run.Project), c.Count, from)
	}
	if n := run.Taken.Refused(); n > 0 {
		a.SayLine("warning: you refused %d change(s) of this run, and its commits are as the agent made them, with these: "+
			"'sbx-devc review --commit %s' makes a branch of what you accepted", n, run.Work.Run)
		return
	}
	sayNext(ctx, a, made[0].In(run.Project), made[0], taken)
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
// and lose no commit that was made in dir while the agent worked. taken says that dir has the
// files of the run.
func sayNext(ctx context.Context, a *cli.App, dir string, c gitdir.Commits, taken bool) {
	git, branch := gitIn(dir), shellword.Quote(c.Branch)
	keeps, born := gitdir.KeepsHead(ctx, c)
	a.SayLine("to look at them: %s log -p %s", git, newCommits(branch, born))
	switch {
	case !taken:
		a.SayLine("the folder does not have all files of %s: commit what it has first, then: %s merge %s", c.Branch, git, branch)
		return
	case !keeps:
		a.SayLine("your branch has commits that %s lacks, and the agent's files are in the folder already: commit those first, then: "+
			"%s merge %s", c.Branch, git, branch)
		return
	}
	a.SayLine("the files are in the folder already; to take the commits into your branch, too: %s", takeCommand(git, c.Branch, born))
}

// takeCommand is the shell's line that moves the branch that is checked out to another one,
// whose files the folder has. A commit that you make before you paste it, such as that of
// another run, is not in the branch, and a reset would take it out of yours: the line says so,
// and does nothing then. born says that there is a commit.
func takeCommand(git, branch string, born bool) string {
	reset := git + " reset " + shellword.Quote(branch)
	if !born {
		return reset
	}
	return fmt.Sprintf("%s merge-base --is-ancestor HEAD %s && %s || echo %s", git, shellword.Quote(branch), reset,
		shellword.Quote("not done: where your branch has commits that "+branch+" lacks, commit the files, and merge it"))
}

// gitIn is git's command for the repository in dir, as one types it in the current folder.
func gitIn(dir string) string {
	if here, err := os.Getwd(); err == nil && projects.Real(here) == projects.Real(dir) {
		return "git"
	}
	return "git -C " + shellword.Quote(dir)
}
