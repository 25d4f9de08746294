package checks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/selection"
	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
)

type fixOptions struct {
	choiceFlags
	diff        bool
	interactive bool
}

func FixCommand(a *cli.App) *cobra.Command {
	var o fixOptions
	cmd := &cobra.Command{
		Use:   "fix [PATH...]",
		Short: "Correct findings of validate where that is safe",
		Long: `Correct devcontainer.json where that is safe; "sbx-devc rules" marks the rules.
Comments, order, layout and line ends stay as they are, and a file is replaced
whole or not at all. Before it makes a change, fix works out the effect as 'sbx-devc
effective' does: it leaves out a change that alters any other property, takes out a
comment or leads to an error that was not there, and says so.
fix corrects errors and warnings, and a note only when --rule names its rule. It skips
rules that sbx-devc.jsonc switches off, and files that it excludes. 'sbx-devc validate'
shows the remaining findings.

--interactive shows one change after the other and asks about each, as 'git add -p'
does: notes too, and what only you can decide, such as a name that was probably
meant, a user that the image has, or the digest that pins the image now, for which
it asks the registry. Nothing is written before the last answer; q keeps the changes
that you agreed to until then.

PATH is a project folder or a devcontainer.json; - reads standard input and
writes the result to standard output. Without PATH it is the current folder.

Exit code 0: nothing is left to correct; 1: --diff, and there is a correction;
2: wrong usage; 3: a file could not be read or written, or is not well formed.`,
		Example: `  sbx-devc fix --diff
  sbx-devc fix
  sbx-devc fix --interactive
  sbx-devc fix --rule SBX301,SBX302 .devcontainer/devcontainer.json
  sbx-devc fix --rule SBX506`,
		Annotations: map[string]string{cli.AnnotationChecker: ""},
		RunE:        func(cmd *cobra.Command, args []string) error { return fix(cmd.Context(), a, o, args) },
	}
	cmd.Flags().BoolVar(&o.diff, "diff", false, "print what would change and write nothing")
	cmd.Flags().BoolVarP(&o.interactive, "interactive", "i", false, "ask about each change, and offer more of them")
	o.add(cmd.Flags())
	cli.Exclusive(cmd, "config", "no-config")
	cli.Exclusive(cmd, "diff", "interactive")
	cmd.Flags().StringSliceVar(&o.rules, "rule", nil, "fix only findings of these rules, notes too")
	return cmd
}

func fix(ctx context.Context, a *cli.App, o fixOptions, paths []string) error {
	for i, word := range o.rules {
		r, ok := findRule(word)
		switch {
		case !ok:
			return exitcode.With(exitcode.CheckUsage, diag.WithHint(fmt.Errorf("%s is no rule that fix can correct", word),
				"%s'sbx-devc rules' marks those with *", cli.Suggestion(word, "", RuleWords(true))))
		case r.Fix == "" && !o.interactive:
			return exitcode.With(exitcode.CheckUsage, diag.WithHint(fmt.Errorf("fix has no correction for %s", r.ID),
				"'sbx-devc explain %s' says what to do, and --interactive offers a change where there is one", r.ID))
		}
		o.rules[i] = r.ID
	}
	choices, err := newChoices(ctx, o.choiceFlags, policies(a))
	if err != nil {
		return err
	}
	paths = projects.Paths(a, paths)
	f := fixer{App: a, fixOptions: o, choices: choices}
	if o.interactive {
		if f.dialog, err = newDialog(a, paths); err != nil {
			return err
		}
		defer f.dialog.digests.Close()
	}
	changed, failed := 0, false
	for _, path := range paths {
		n, err := f.path(ctx, path)
		changed += n
		if err != nil {
			failed = true
			a.PrintError(err)
		}
		if f.dialog.ended() {
			break
		}
	}
	switch {
	case failed:
		return exitcode.With(exitcode.NoCheck, nil)
	case o.diff && changed > 0:
		return exitcode.With(exitcode.Findings, nil)
	case f.dialog.asked():
	case changed == 0:
		fmt.Fprintln(a.Stderr, "sbx-devc: nothing to fix; 'sbx-devc validate' lists the findings that only a person can decide")
	}
	return nil
}

// fixer corrects files one after the other.
type fixer struct {
	*cli.App
	fixOptions
	choices *selection.Choices
	dialog  *dialog // nil = the command asks nothing
}

// path corrects what one argument names and returns how many files change.
func (x *fixer) path(ctx context.Context, path string) (changed int, err error) {
	a, o, choices := x.App, x.fixOptions, x.choices
	if path == "-" {
		src, err := piped(a)
		if err != nil {
			return 0, err
		}
		c, err := choices.Of(ctx, "-")
		if err != nil {
			return 0, err
		}
		p := devcontainer.Parse("-", src)
		out, fixed, left := lint.Fix(p, o.rules, c.JudgeKnown)
		sayLeft(a, left)
		if !o.diff {
			_, err = cli.Shown(a.Stdout).Write(out)
			return min(len(fixed), 1), errors.Join(err, stillBroken("-", out))
		}
		return corrected(a, o, p, out, fixed)
	}
	found, failed := discover(a, path)
	for _, file := range found {
		if filepath.Base(file) == devcontainer.SettingsName {
			continue
		}
		c, err := choices.Of(ctx, file)
		if err != nil {
			return changed, errors.Join(failed, err)
		}
		failed = errors.Join(failed, devcontainer.Open(file, func(p *devcontainer.Project) error {
			var out []byte
			var fixed []diag.Finding
			if x.dialog != nil {
				var err error
				if out, fixed, err = x.dialog.fix(ctx, p, o.rules, c.JudgeKnown); err != nil {
					return err
				}
			} else {
				var left []lint.Left
				out, fixed, left = lint.Fix(p, o.rules, c.JudgeKnown)
				sayLeft(a, left)
			}
			n, err := corrected(a, o, p, out, fixed)
			changed += n
			return err
		}))
		if x.dialog.ended() {
			break
		}
	}
	return changed, failed
}

// corrected shows or writes the new text of a configuration.
func corrected(a *cli.App, o fixOptions, p *devcontainer.Project, out []byte, fixed []diag.Finding) (changed int, err error) {
	file, src := p.Config.File, p.Config.Src
	if bytes.Equal(out, src) {
		return 0, stillBroken(file, out)
	}
	if o.diff {
		_, err := cli.Shown(a.Stdout).Write(diff.Diff(file, src, file, out))
		return 1, err
	}
	target, err := filepath.EvalSymlinks(file)
	if err == nil {
		err = atomicfile.Replace(target, src, out)
	}
	if err != nil {
		return 0, fmt.Errorf("writing %s: %w", file, err)
	}
	for _, f := range fixed {
		fmt.Fprintf(a.Stderr, "sbx-devc: %s:%d: %s: %s\n", file, f.Line, f.Rule, visible.Folded(f.Message))
	}
	return 1, nil
}

// sayLeft names the corrections that are not made, and what they would do besides.
func sayLeft(a *cli.App, left []lint.Left) {
	for _, l := range left {
		why := "there are too many corrections at once; run fix again"
		if costs := l.Text(); costs != "" {
			why = "the correction would " + costs + "; --interactive shows it"
		}
		fmt.Fprintf(a.Stderr, "sbx-devc: note: %s:%d: %s is left as it is: %s\n", l.File, l.Line, l.Rule, visible.Folded(why))
	}
}

// stillBroken reports a configuration that fix cannot correct because it is none.
func stillBroken(file string, src []byte) error {
	if devcontainer.Parse(file, src).Config.Root != nil {
		return nil
	}
	return diag.WithHint(fmt.Errorf("%s is not well formed, and no machine knows what was meant", file),
		"'sbx-devc validate %s' says where", file)
}
