package user

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/cmd/sbx-devc/run"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/accept"
	"github.com/org/claude-sandbox/settings/trust"
)

// trustOptions are the flags of trust.
type trustOptions struct {
	yes, show, list, remove, json bool
}

func TrustCommand(a *cli.App) *cobra.Command {
	var o trustOptions
	cmd := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Accept a project's sandbox.jsonc, until it changes",
		Long: `Show what .devcontainer/sandbox.jsonc of the project in DIR opens (default: the
project around the current folder) and which image its dev container has, and accept
both. From then on 'run' takes the file as it is, and the image, which it builds from
the dev container's Dockerfile. It asks again, with the difference, when the file, a
list that it names, or a file that the image is made of has changed. A copy of the
project in another folder is another project; linked worktrees of a repository are one.
Skills, commands, agents and output styles in .claude are accepted with it; one that is
new or changes later stays away from Claude until you accept it here.

Your decisions are kept in trust.json in sbx-devc in your folder of settings
($XDG_CONFIG_HOME or ~/.config). 'init' accepts the file that it wrote itself. The
Action never looks there.

Exit code 0: accepted, or --show of an accepted file; 1: --show of another one; 64:
wrong usage; 65: the file, or trust.json, cannot be used; 66: there is no such file;
75: another process is writing; 77: you said no, or there is no terminal to ask on.`,
		Example: `  sbx-devc trust
  sbx-devc trust ~/src/app --yes
  sbx-devc trust --show
  sbx-devc trust --list
  sbx-devc trust --remove ~/src/app`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.list && len(args) > 0:
				return exitcode.With(exitcode.Usage, errors.New("--list shows every project, and takes no folder"))
			case o.json && !o.list:
				return exitcode.With(exitcode.Usage, errors.New("--json is for --list"))
			case o.list:
				return trustList(a, o.json)
			case o.remove:
				return trustRemove(a, projects.Dir(a, args))
			}
			return trustProject(cmd.Context(), a, o, projects.Dir(a, args))
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.yes, "yes", false, "accept without a question")
	f.BoolVar(&o.show, "show", false, "say what the file opens, and whether it is accepted; change nothing")
	f.BoolVar(&o.list, "list", false, "list the projects whose files are accepted")
	f.BoolVar(&o.remove, "remove", false, "accept the project's file no more")
	f.BoolVar(&o.json, "json", false, "with --list: as JSON")
	cli.Exclusive(cmd, "yes", "show", "list", "remove")
	return cmd
}

func trustProject(ctx context.Context, a *cli.App, o trustOptions, dir string) error {
	p, err := session.ReadProject(dir)
	if err != nil {
		return run.PlanError(a, err)
	}
	if len(p.Content()) == 0 {
		if _, err := filepath.Abs(dir); err != nil {
			return err // the current folder was removed
		}
		err := fmt.Errorf("there is no %s in %s", filepath.ToSlash(projects.DefaultSettings), dir)
		if p.Recipe != nil {
			err = fmt.Errorf("%w, and a run takes no image of %s, because %s", err, p.Recipe.File, p.Recipe.Unusable)
		}
		return exitcode.With(exitcode.NoInput, diag.WithHint(err, "'sbx-devc init' writes one; a run without it needs no trust"))
	}
	question, err := run.TrustOf(a, p)
	if err != nil {
		return err
	}
	trusted := question.Standing() == trust.Trusted && !question.NewTexts()
	if o.show {
		fmt.Fprintf(a.Stdout, "%s is %s.\n", question.Subject(), inWords(question))
		question.Show(a.Stdout)
		if !trusted {
			return exitcode.With(exitcode.Findings, nil)
		}
		return nil
	}
	fmt.Fprintf(a.Stderr, "sbx-devc: %s is %s\n", question.Subject(), inWords(question))
	question.Show(a.Stderr)
	if trusted {
		return nil
	}
	if !o.yes {
		to := a.Questions()
		if to == nil {
			return exitcode.With(exitcode.Refused, diag.WithHint(errors.New("there is no terminal to ask on"), "read the file, then add --yes"))
		}
		switch yes, err := to.Confirm(ctx, run.TrustQuestion, false); {
		case err != nil:
			return cli.Unanswered(err)
		case !yes:
			return exitcode.With(exitcode.Refused, errors.New("the settings are not trusted"))
		}
	}
	if err := question.Accept("trust"); err != nil {
		return err
	}
	fmt.Fprintln(a.Stderr, "sbx-devc: trusted until the settings change; 'sbx-devc trust --remove' takes it back")
	return nil
}

func inWords(q *accept.Question) string {
	switch q.Standing() {
	case trust.Trusted:
		if q.NewTexts() {
			return "trusted, and texts for Claude are not"
		}
		return "trusted"
	case trust.Changed:
		return "not trusted: it has changed since you accepted it"
	}
	return "not trusted yet"
}

func trustRemove(a *cli.App, dir string) error {
	own, err := projects.OwnFolder(a)
	if err != nil {
		return err
	}
	name, err := accept.Remove(own, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "sbx-devc: %s is not trusted any more\n", visible.Line(name))
	return nil
}

func trustList(a *cli.App, asJSON bool) error {
	own, err := projects.OwnFolder(a)
	if err != nil {
		return err
	}
	projects, err := accept.List(own)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(a.Stdout, struct {
			SchemaVersion int              `json:"schemaVersion"`
			Projects      []accept.Project `json:"projects"`
		}{1, projects})
	}
	table := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	for _, p := range projects {
		fmt.Fprintf(table, "%s\t%s\tby %s\t%s\n", visible.Line(p.Project), p.State, visible.Line(p.By), p.Time.Format(time.DateOnly))
	}
	return table.Flush()
}
