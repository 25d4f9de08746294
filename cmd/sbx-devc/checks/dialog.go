package checks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/imagebuild/digest"
	"github.com/org/claude-sandbox/internal/ask"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/visible"
)

// dialog asks about one change after the other.
type dialog struct {
	to      *ask.Terminal
	out     io.Writer
	notice  func(string)
	digests *digest.Source
	quit    bool // no further question, in no file
	count   int  // of questions
}

// Answers to a question, with the letters of git add -p.
var answers = []ask.Option{
	{Value: "y", Label: "make this change"},
	{Value: "n", Label: "leave this as it is"},
	{Value: "a", Label: "make this change and all later ones in this file"},
	{Value: "d", Label: "leave this and all later ones in this file"},
	{Value: "q", Label: "leave this and all later ones in every file"},
}

// newDialog begins the questions about the files below paths.
func newDialog(a *cli.App, paths []string) (*dialog, error) {
	if slices.Contains(paths, "-") {
		err := errors.New("--interactive reads answers from standard input, and so cannot read a file there")
		return nil, exitcode.With(exitcode.CheckUsage, err)
	}
	to := a.Questions()
	if to == nil {
		return nil, exitcode.With(exitcode.CheckUsage, diag.WithHint(errors.New("--interactive asks, and there is no terminal to answer at"),
			"--diff shows the changes that need no answer"))
	}
	registries, err := connect.RegistryOptions(a, connect.Login{})
	if err != nil {
		return nil, err
	}
	return &dialog{to: to, out: cli.Shown(a.Stderr), notice: registries.Notice, digests: digest.New(registries)}, nil
}

// asked reports whether there was a question; a nil dialog has none.
func (d *dialog) asked() bool { return d != nil && d.count > 0 }

// ended reports whether somebody wants no further question.
func (d *dialog) ended() bool { return d != nil && d.quit }

// fix asks about the changes of a configuration and returns its text with those that were agreed
// to. Each answer counts for the text as it is then: a change can make another one needless.
func (d *dialog) fix(ctx context.Context, p *devcontainer.Project, rules []string, choose lint.Choose) (
	src []byte, fixed []diag.Finding, err error) {
	src = p.Config.Src
	left := map[[3]string]bool{} // as they are
	all, number := false, 0
	for {
		open := slices.DeleteFunc(lint.Proposals(p, rules, choose), func(f lint.Proposal) bool { return left[keyOf(f)] })
		if len(open) == 0 {
			return src, fixed, nil
		}
		next := open[0]
		left[keyOf(next)] = true
		if next.Image != "" {
			known, err := d.digests.Digest(ctx, next.Image)
			if ctx.Err() != nil {
				return nil, nil, d.interrupted(ctx, p)
			}
			if err != nil {
				d.notice(fmt.Sprintf("note: no digest is offered for %s: %v", next.Image, err))
				continue
			}
			next = next.Pinned(p.Config, known)
		}
		out, applied := jsonc.Apply(src, next.Edits)
		if !applied[0] {
			continue
		}
		if number++; !all {
			d.show(p.Config.File, src, out, next)
			answer, err := d.to.Key(ctx, question(next, number, number+len(open)-1), answers)
			d.count++
			if ctx.Err() != nil {
				return nil, nil, d.interrupted(ctx, p)
			}
			if err != nil {
				return nil, nil, cli.Unanswered(err)
			}
			switch answer {
			case "n":
				continue
			case "a":
				all = true
			case "d", "q":
				d.quit = answer == "q"
				return src, fixed, nil
			}
		}
		src, p, fixed = out, p.With(out), append(fixed, next.Finding)
	}
}

// interrupted says what becomes of the answers so far. Files before this one have theirs.
func (d *dialog) interrupted(ctx context.Context, p *devcontainer.Project) error {
	d.notice(fmt.Sprintf("note: interrupted: nothing was written to %s", p.Config.File))
	return ctx.Err()
}

// keyOf is a proposal whatever line it stands on.
func keyOf(f lint.Proposal) [3]string { return [3]string{f.Rule, f.Pointer, f.Message} }

// show prints a finding and what the change would do.
func (d *dialog) show(file string, before, after []byte, f lint.Proposal) {
	fmt.Fprintf(d.out, "%s:%d:%d: %s: %s [%s]\n", file, f.Line, f.Column, f.Severity, visible.Folded(f.Message), f.Rule)
	d.out.Write(diff.Diff(file, before, file, after)) //nolint:errcheck // the question is lost with it
}

func question(f lint.Proposal, number, of int) string {
	switch {
	case f.Safe:
		return fmt.Sprintf("(%d/%d) Make this change?", number, of)
	case f.Text() != "":
		return fmt.Sprintf("(%d/%d) This would %s. Was it meant?", number, of, visible.Folded(f.Text()))
	}
	return fmt.Sprintf("(%d/%d) Was this meant?", number, of)
}
