package changes

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/ask"
	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/pathglob"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session/decision"
	"github.com/org/claude-sandbox/session/review"
)

// reviewOptions are the flags of review.
type reviewOptions struct {
	json      bool
	html      string
	auto      []string
	dangerous []string
	commit    bool
}

func ReviewCommand(a *cli.App) *cobra.Command {
	var o reviewOptions
	cmd := &cobra.Command{
		Use:   "review [RUN | FOLDER]",
		Short: "Look at the changes of a run, the dangerous first, and accept or refuse them",
		Long: `Show the changes of a run by their danger: first files that git, shells, editors,
agents, hooks, CI or an install obey, text that a reader does not see, links, misleading
names, permissions, builds, binaries and possible secrets; then everything else. The
first screen names every dangerous file, or counts them by kind. Without RUN it is the
newest run of the project with changes that you have not decided about. Each change has the
tool call that wrote it, by the transcript, and the hosts that were read before it.

On a terminal it asks about each dangerous hunk, and once about all others. A run that
worked in the project has changed the files already: a change that you refuse is
undone. A change of a run on a copy comes into the project when you accept it. A file
that changed since the run is left as it is, and named. Without a terminal review only
reports.

--auto-apply accepts files that a glob names without a question, unless they are dangerous;
--accept-dangerous accepts dangerous changes too, of the paths that its own globs
name. In a glob "**" stands for any number of folders.

Exit code 1: something is left as it is, or undecided after --auto-apply; 64: wrong
usage; 66: there is no such run; 73: the page, or a file of the project, could not be
written, as on a full disk.`,
		Example: `  sbx-devc review
  sbx-devc review --html review.html
  sbx-devc review --auto-apply 'src/**' --auto-apply 'docs/**'
  sbx-devc review --accept-dangerous go.mod --accept-dangerous go.sum
  sbx-devc review --commit`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return showReview(cmd.Context(), a, o, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print the review as JSON and decide nothing")
	f.StringVar(&o.html, "html", "", "write the review as one HTML page to this `FILE` and decide nothing")
	f.StringArrayVar(&o.auto, "auto-apply", nil, "accept changes of files that this `GLOB` names, unless they are dangerous; repeatable")
	f.StringArrayVar(&o.dangerous, "accept-dangerous", nil, "accept changes of files that this `GLOB` names, also dangerous ones; repeatable")
	f.BoolVar(&o.commit, "commit", false, "make a branch with a commit of the accepted changes, with a trailer that names the run")
	cli.Exclusive(cmd, "json", "html", "commit")
	cli.Exclusive(cmd, "json", "html", "auto-apply")
	cli.Exclusive(cmd, "json", "html", "accept-dangerous")
	return cmd
}

func showReview(ctx context.Context, a *cli.App, o reviewOptions, args []string) (err error) {
	if err := checkGlobs(o.auto, o.dangerous); err != nil {
		return err
	}
	meant, err := meantRun(ctx, a, args, decision.ToReview)
	if err != nil {
		return err
	}
	run, err := decision.Open(meant.Folder)
	if err != nil {
		return err
	}
	switch {
	case o.json:
		return run.Review.WriteJSON(cli.Shown(a.Stdout))
	case o.html != "":
		if err := atomicfile.Write(o.html, 0o644, run.Review.WriteHTML); err != nil {
			return exitcode.With(exitcode.CantWrite, fmt.Errorf("writing the page: %w", err))
		}
		return nil
	}
	defer sayEarlier(a, meant, "review", &err)
	decided := run.Auto(o.auto, o.dangerous)
	to := a.Questions()
	if to != nil && run.Gone {
		a.SayLine("the copy of the project in which the run worked is gone: there is nothing to decide any more")
		return run.Review.WriteText(a.Stdout, screenRows, screenColumns)
	}
	if to == nil && len(decided) == 0 && !o.commit {
		if accepted, refused := run.Decided(); accepted+refused > 0 {
			defer a.SayLine("%s accepted, %d refused, %d undecided", visible.Count(accepted, "change"), refused, run.Undecided())
		}
		return run.Review.WriteText(a.Stdout, screenRows, screenColumns)
	}
	if to != nil {
		rows, columns := screen(a)
		out := cli.Shown(a.Stderr)
		fmt.Fprint(out, run.Review.Screen(rows, columns))
		key := func(question string, options []ask.Option) (string, error) { return to.Key(ctx, question, options) }
		if err := run.Ask(decided, decision.Screen{Out: out, Rows: rows, Key: key}); err != nil {
			return cli.Unanswered(err)
		}
	}
	if err := settle(a, run, decided); err != nil {
		return err
	}
	if o.commit {
		if err := commitAccepted(ctx, a, run); err != nil {
			return err
		}
	}
	left := run.Undecided()
	if left > 0 && to != nil {
		a.SayLine("%s undecided; to go on: sbx-devc review %s", visible.Count(left, "change"), run.Work.Run)
	}
	if left > 0 && len(o.auto)+len(o.dangerous) > 0 {
		return exitcode.With(exitcode.Findings, diag.WithHint(fmt.Errorf("%s undecided", visible.Count(left, "change")),
			"look at them: sbx-devc review %s", run.Work.Run))
	}
	return nil
}

// checkGlobs errs on a malformed glob.
func checkGlobs(lists ...[]string) error {
	for _, list := range lists {
		for _, g := range list {
			if err := pathglob.Check(g); err != nil {
				err = fmt.Errorf("%q is no glob: %w", g, err)
				return exitcode.With(exitcode.Usage, diag.WithHint(err, "for example 'src/**' or '*.go'; one ** at most"))
			}
		}
	}
	return nil
}

// maxDone is how many paths are named with which all went well, such as those of
// node_modules; what is left alone is always named.
const maxDone = 20

// manyDecided is how many decisions take so long that people hear of it: a file is written
// next to its place and moved there, which takes some tenths of a millisecond to more than one.
const manyDecided = 1000

// settle makes the decisions true and says what was done.
func settle(a *cli.App, run *decision.Run, decided decision.Taken) error {
	if len(decided) == 0 {
		return nil
	}
	if len(decided) >= manyDecided {
		a.SayLine("settling %s in %s", visible.Count(len(decided), "change"), run.Project)
	}
	settled, err := run.Settle(decided)
	if err != nil {
		code, _ := exitcode.Of(err, exitcode.Internal)
		return exitcode.With(code, err)
	}
	code, done := exitcode.Failed, 0
	for _, o := range settled.Outcomes {
		switch {
		case o.Err != nil:
			a.SayLine("! %s: %v", o.Path, o.Err)
			if sandbox.IsUnwritten(o.Err) {
				code = exitcode.CantWrite
			}
		case o.Done != "":
			if done++; done <= maxDone {
				a.SayLine("%s: %s", o.Path, o.Done)
			}
		}
	}
	if done > maxDone {
		a.SayLine("and %d more", done-maxDone)
	}
	a.SayLine("%s accepted, %d refused", visible.Count(settled.Accepted, "change"), settled.Refused)
	if settled.Left > 0 {
		return exitcode.With(code, fmt.Errorf("left alone: %s, as said above", visible.Count(settled.Left, "path")))
	}
	return nil
}

// The size of a screen when the terminal does not tell it.
const (
	screenRows    = 24
	screenColumns = 80
)

// screen is the size of the terminal behind standard error, in lines and columns.
func screen(a *cli.App) (rows, columns int) {
	if f, ok := a.Stderr.(interface{ Fd() uintptr }); ok {
		if columns, rows, err := term.GetSize(int(f.Fd())); err == nil && rows > 0 && columns > 0 {
			return rows - 1, columns // the last line is the question's
		}
	}
	return screenRows, screenColumns
}

// commitAccepted makes a branch with a commit of the accepted changes.
func commitAccepted(ctx context.Context, a *cli.App, run *decision.Run) error {
	branch, err := run.Commit(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout, branch)
	a.SayLine("to take it into your branch, the files of which are there already: %s", takeCommand(gitIn(run.Project), branch, true))
	return nil
}

// confirm shows what is dangerous about reviews before what they are about counts. On a
// terminal it asks once; elsewhere it refuses a change that acts although the project is not run,
// unless a glob accepts it.
func confirm(ctx context.Context, a *cli.App, reviews []*review.Review, accept []string, what string) error {
	danger := decision.DangerOf(reviews, accept)
	if len(danger.Open) == 0 {
		return nil
	}
	rows, columns := screen(a)
	for _, r := range reviews {
		if r.Dangerous > 0 {
			fmt.Fprint(a.Stderr, r.Screen(rows, columns))
		}
	}
	to := a.Questions()
	if to == nil {
		return danger.Refusal()
	}
	yes, err := to.Confirm(ctx, what+"?", false)
	if err == nil && !yes {
		return exitcode.With(exitcode.Refused, errors.New("nothing was done: there was no yes"))
	}
	return cli.Unanswered(err)
}
