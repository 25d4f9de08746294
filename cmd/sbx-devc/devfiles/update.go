package devfiles

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/merge"
	"github.com/org/claude-sandbox/templates/scaffold"
)

type updateOptions struct {
	options []string
	prefer  string
	rescan  bool
	check   bool
	dryRun  bool
}

func UpdateCommand(a *cli.App) *cobra.Command {
	var o updateOptions
	cmd := &cobra.Command{
		Use:   "update [DIR]",
		Short: "Bring the dev container to this version's template, keeping every edit",
		Long: `Merge the template of this sbx-devc into the files of DIR/.devcontainer, without
losing an edit or a comment. sandbox.lock keeps the text that the template wrote
before, so nothing is fetched.

JSON is merged value by value, lists whose order means nothing as sets, mounts by
their target. In a Dockerfile only lines between sbx:begin and sbx:end are merged;
other files are merged line by line. A version or digest of yours stays unless the template's
is newer. Where both sides changed the same place, every such place is listed with
both sides and nothing is written.

A dev container of your own, which init extended by the Feature, gets the current
result of 'init --extend': the Feature that this sbx-devc carries, and the mounts
of the protected paths.

Exit code 0: up to date, or updated; 1: conflicts, or with --check something to
merge; 2: wrong usage; 3: there is no lock, it is of a later template than this
sbx-devc's, or a file cannot be read or written.`,
		Example: `  sbx-devc update --dry-run
  sbx-devc update --option timezone=Europe/Berlin
  sbx-devc update --prefer mine`,
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{cli.AnnotationChecker: ""},
		RunE: func(_ *cobra.Command, args []string) error {
			return update(a, o, scaffold.Folder(projects.Dir(a, args)))
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.options, "option", nil, "change a template option, KEY=VALUE (repeatable)")
	f.StringVar(&o.prefer, "prefer", "", "decide conflicts: mine or template")
	f.BoolVar(&o.rescan, "rescan", false, "look again for paths that must be read-only inside, and make the folders that a new clone lacks")
	f.BoolVar(&o.check, "check", false, "only say what would change; exit 1 if anything would")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the differences instead of writing them")
	return cmd
}

func update(a *cli.App, o updateOptions, dir scaffold.Folder) error {
	prefer, known := map[string]merge.Side{"": merge.Neither, "mine": merge.Mine, "template": merge.Template}[o.prefer]
	if !known {
		return exitcode.With(exitcode.CheckUsage, cli.UnknownValue("prefer", o.prefer, "mine", "template"))
	}
	d, err := scaffold.Open(dir)
	if errors.Is(err, scaffold.ErrExtended) {
		return updateExtended(a, o, dir)
	}
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	u, err := d.Update(scaffold.Wish{Options: o.options, Prefer: prefer, Rescan: o.rescan, Check: o.check})
	if code, err := exitcode.Of(err, exitcode.NoCheck); err != nil {
		if code == exitcode.Usage {
			return exitcode.With(exitcode.CheckUsage, err)
		}
		return exitcode.With(exitcode.NoCheck, err)
	}
	sayNotes(a, append(u.Notes, u.Seen.Notes...))
	showMissing(a, u.Missing, o.check)
	if err := showConflicts(a, u.Conflicts); err != nil {
		return err
	}
	noteMoved(a, u.Moved)
	switch {
	case len(u.Files) == 0 && o.check && len(u.Missing) > 0:
		return exitcode.With(exitcode.Findings, nil)
	case len(u.Files) == 0:
		// Another clone lacks the folders that git does not keep.
		if err := makeFolders(a, dir, u.Seen, o); err != nil {
			return err
		}
		fmt.Fprintf(a.Stderr, "sbx-devc: up to date with template %s %s\n", u.Lock.Template.ID, u.Lock.Template.Version)
		return nil
	case o.dryRun:
		return showFiles(a, dir, u.Files, "changed")
	case o.check:
		return behind(a, u, d.Lock.Template.Version)
	}
	if worse := dir.Worse(u.Files); len(worse) > 0 {
		err := fmt.Errorf("%s: the files would not be valid: %s", dir, showErrors(a, worse))
		return exitcode.With(exitcode.Findings, diag.WithHint(err,
			"nothing was written; --dry-run shows the files, 'sbx-devc validate' what is wrong now"))
	}
	notes, err := dir.Write(u.Seen, u.Files, true)
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	sayNotes(a, notes)
	wrote(a, dir, u.Files)
	return nil
}

// behind says what a merge would change in a dev container whose files are of the
// template's version was.
func behind(a *cli.App, u *scaffold.Update, was string) error {
	for _, f := range u.Files {
		fmt.Fprintf(a.Stdout, "%s would change\n", f.Path)
	}
	what := fmt.Sprintf("is there, the files are of %s", was)
	if was == u.Lock.Template.Version {
		what = "writes something else now"
	}
	fmt.Fprintf(a.Stderr, "sbx-devc: template %s %s %s; 'sbx-devc update' merges it\n", u.Lock.Template.ID, u.Lock.Template.Version, what)
	return exitcode.With(exitcode.Findings, nil)
}

// showMissing names the files of the template that are not there, on standard
// output where they are findings.
func showMissing(a *cli.App, missing []string, check bool) {
	for _, name := range missing {
		if check {
			fmt.Fprintf(a.Stdout, "%s is missing\n", name)
		} else {
			fmt.Fprintf(a.Stderr, "sbx-devc: note: %s is missing and stays so; take it from an earlier commit\n", name)
		}
	}
}

// sayNotes are sentences for people.
func sayNotes(a *cli.App, list []string) {
	for _, n := range list {
		fmt.Fprintf(cli.Shown(a.Stderr), "sbx-devc: note: %s\n", n)
	}
}

// wrote names the files that were written.
func wrote(a *cli.App, dir scaffold.Folder, files []templates.File) {
	for _, f := range files {
		fmt.Fprintf(a.Stderr, "sbx-devc: wrote %s\n", dir.Path(f.Path))
	}
}

// makeFolders makes the folders that mounts need and says which, unless nothing is
// to be written.
func makeFolders(a *cli.App, dir scaffold.Folder, seen templates.Observation, o updateOptions) error {
	if o.check || o.dryRun {
		return nil
	}
	notes, _, err := dir.MakeFolders(seen)
	if err != nil {
		return exitcode.With(exitcode.NoCheck, fmt.Errorf("writing into %s: %w", dir, err))
	}
	sayNotes(a, notes)
	return nil
}

// showConflicts prints every place that both sides changed, and ends the
// command if there is one.
func showConflicts(a *cli.App, conflicts []lock.FileConflict) error {
	if len(conflicts) == 0 {
		return nil
	}
	out := cli.Shown(a.Stdout)
	for _, c := range conflicts {
		fmt.Fprintf(out, "%s %s\n", c.Path, c.Place)
		for _, side := range []struct{ name, text string }{{"was", c.Base}, {"template", c.Template}, {"mine", c.Mine}} {
			text := strings.TrimRight(side.text, "\n")
			if side.text == "" {
				text = "(not there)"
			}
			fmt.Fprintf(out, "  %-9s %s\n", side.name+":", strings.ReplaceAll(text, "\n", "\n            "))
		}
	}
	err := fmt.Errorf("%s: both the template and you changed it; nothing was written", visible.Count(len(conflicts), "place"))
	return exitcode.With(exitcode.Findings, diag.WithHint(err,
		"change these places to what they should be, or decide all with --prefer mine or --prefer template"))
}
