package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/merge"
)

type updateOptions struct {
	options []string
	prefer  string
	rescan  bool
	check   bool
	dryRun  bool
}

func (a *app) updateCommand() *cobra.Command {
	var o updateOptions
	cmd := &cobra.Command{
		Use:   "update [DIR]",
		Short: "Bring the dev container to this version's template, keeping every edit",
		Long: `Bring the files of DIR/.devcontainer to what the template of this sbx-devc says,
without losing an edit or a comment. What the template wrote is kept in
sandbox.lock, so nothing is fetched.

JSON is merged value by value, lists whose order means nothing as sets, mounts by
their target; in a Dockerfile only what stands between sbx:begin and sbx:end, line
by line as other files. A version or digest of yours stays unless the template's
is newer. Where both sides changed the same place, every such place is listed with
both sides and nothing is written.

A dev container of your own, which init extended by the Feature, gets what 'init
--extend' writes now: the Feature that this sbx-devc carries, and the mounts of
what it protects.

Exit code 0: up to date, or updated; 1: conflicts, or with --check something to
merge; 2: wrong usage; 3: there is no lock, it is of a later template than this
sbx-devc's, or a file cannot be read or written.`,
		Example: `  sbx-devc update --dry-run
  sbx-devc update --option timezone=Europe/Berlin
  sbx-devc update --prefer mine`,
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{annotationChecker: ""},
		RunE:        func(_ *cobra.Command, args []string) error { return a.update(o, a.projectDir(args)) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.options, "option", nil, "change a template option, KEY=VALUE (repeatable)")
	f.StringVar(&o.prefer, "prefer", "", "decide conflicts: mine or template")
	f.BoolVar(&o.rescan, "rescan", false, "look again for what has to be read-only inside, and make the folders that a new clone lacks")
	f.BoolVar(&o.check, "check", false, "only say what would change; exit 1 if anything would")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the differences instead of writing them")
	return cmd
}

func (a *app) update(o updateOptions, dir string) error {
	prefer, known := map[string]merge.Side{"": merge.Neither, "mine": merge.Mine, "template": merge.Template}[o.prefer]
	if !known {
		return exitWith(exitCheckUsage, unknownValue("prefer", o.prefer, "mine", "template"))
	}
	l, files, err := readLocked(dir)
	if errors.Is(err, errExtended) {
		return a.updateExtended(o, dir)
	}
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	in := l.Input()
	in.Options = maps.Clone(in.Options)
	if err := setOptions(in.Options, o.options); err != nil {
		return exitWith(exitCheckUsage, err)
	}
	var seen templates.Observation
	if o.rescan {
		if seen, err = templates.Observe(dir); err != nil {
			return exitWith(exitNoCheck, err)
		}
		if !templates.MountsWorkspace(files) {
			seen = templates.Observation{} // nothing of the project is mounted writable
		}
		in.Facts = seen.Facts
	}
	r, err := lock.Update(l, in, carried.Sums(), readBelow(dir), prefer)
	switch {
	case errors.Is(err, templates.ErrOption) && len(o.options) > 0:
		return exitWith(exitCheckUsage, err)
	case err != nil:
		return exitWith(exitNoCheck, err)
	}
	a.notes(append(r.Notes, seen.Notes...))
	for _, name := range r.Missing {
		if o.check {
			fmt.Fprintf(a.stdout, "%s is missing\n", name)
			continue
		}
		fmt.Fprintf(a.stderr, "sbx-devc: note: %s is missing and stays so; take it from an earlier commit\n", name)
	}
	if err := a.showConflicts(r.Conflicts); err != nil {
		return err
	}
	if o.check && len(r.Files) == 0 && r.OnlyMoved(l, files) {
		a.noteMoved(l.Stale(files, nil))
		r.Lock = l
	}
	// Git on Windows checks the lock out with carriage returns.
	if text := r.Lock.Encode(); string(text) != strings.ReplaceAll(string(current(dir, lock.Path)), "\r\n", "\n") {
		r.Files = append(r.Files, templates.File{Path: lock.Path, Content: text})
	}
	switch {
	case len(r.Files) == 0 && o.check && len(r.Missing) > 0:
		return exitWith(exitFindings, nil)
	case len(r.Files) == 0:
		// Another clone lacks the folders that git does not keep.
		if _, err := a.prepare(dir, seen, o); err != nil {
			return err
		}
		fmt.Fprintf(a.stderr, "sbx-devc: up to date with template %s %s\n", r.Lock.Template.ID, r.Lock.Template.Version)
		return nil
	case o.dryRun:
		return a.showFiles(dir, r.Files, "changed")
	case o.check:
		for _, f := range r.Files {
			fmt.Fprintf(a.stdout, "%s would change\n", f.Path)
		}
		what := fmt.Sprintf("is there, the files are of %s", l.Template.Version)
		if l.Template.Version == r.Lock.Template.Version {
			what = "writes something else now"
		}
		fmt.Fprintf(a.stderr, "sbx-devc: template %s %s %s; 'sbx-devc update' merges it\n", r.Lock.Template.ID, r.Lock.Template.Version, what)
		return exitWith(exitFindings, nil)
	}
	if err := a.noWorse(dir, r.Files); err != nil {
		return exitWith(exitFindings, err)
	}
	undo, err := a.prepare(dir, seen, o)
	if err != nil {
		return err
	}
	if err := templates.WriteFiles(dir, r.Files, true); err != nil {
		undo()
		return exitWith(exitNoCheck, fmt.Errorf("writing into %s: %w", dir, err))
	}
	for _, f := range r.Files {
		fmt.Fprintf(a.stderr, "sbx-devc: wrote %s\n", filepath.Join(dir, filepath.FromSlash(f.Path)))
	}
	return nil
}

// notes are sentences for people.
func (a *app) notes(list []string) {
	for _, n := range list {
		fmt.Fprintf(shown(a.stderr), "sbx-devc: note: %s\n", n)
	}
}

// prepare makes the folders that mounts need and says which; undo takes them
// away again.
func (a *app) prepare(dir string, seen templates.Observation, o updateOptions) (undo func(), err error) {
	if o.check || o.dryRun {
		return func() {}, nil
	}
	seen.Notes = nil
	if undo, err = prepare(dir, &seen); err != nil {
		return nil, exitWith(exitNoCheck, fmt.Errorf("writing into %s: %w", dir, err))
	}
	a.notes(seen.Notes)
	return undo, nil
}

// showConflicts prints every place that both sides changed, and ends the
// command if there is one.
func (a *app) showConflicts(conflicts []lock.FileConflict) error {
	if len(conflicts) == 0 {
		return nil
	}
	out := shown(a.stdout)
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
	err := fmt.Errorf("%s: both the template and you changed it; nothing was written", count(len(conflicts), "place"))
	return exitWith(exitFindings, diag.WithHint(err, "change these places to what they should be, or decide all with --prefer mine or --prefer template"))
}

// readBelow reads regular files of the project; a link is as good as nothing,
// because nothing is written through one either.
func readBelow(dir string) func(string) []byte {
	return func(name string) []byte {
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		return current(dir, name)
	}
}

// readableFiles refuses files that are there and cannot be read: to call them
// missing would be wrong, and to leave them out a guess.
func readableFiles(dir string, paths []string) error {
	for _, name := range paths {
		file := filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Lstat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return diag.WithHint(fmt.Errorf("%s is not a regular file", file), "nothing is read or written through a link; put a file there, or remove it")
		}
		if _, err := os.ReadFile(file); err != nil {
			return err
		}
	}
	return nil
}

// errExtended reports a dev container of the user's own with our Feature in it.
var errExtended = errors.New("this dev container is your own, with the firewall's Feature")

// readLock reads the project's lock. A dev container that was extended has none,
// which is errExtended.
func readLock(dir string) (*lock.Lock, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, diag.WithHint(fmt.Errorf("%s is a file", dir), "name the project's folder, the one with .devcontainer in it")
	}
	text := readBelow(dir)(lock.Path)
	if text == nil {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(lock.Path))); !errors.Is(err, fs.ErrNotExist) {
			return nil, diag.WithHint(fmt.Errorf("%s is not a regular file that can be read", filepath.Join(dir, lock.Path)), "it must be a file of this user's, and neither it nor .devcontainer a link that leads out of the project")
		}
		if config := readBelow(dir)(configPath); config != nil && templates.Extended(config) {
			return nil, fmt.Errorf("%s: %w: there is no template to compare it with", dir, errExtended)
		}
		return nil, diag.WithHint(fmt.Errorf("%s: no %s", dir, lock.Path), "'sbx-devc init' writes one; a dev container from before has none")
	}
	return lock.Parse(text)
}

// readLocked reads the project's lock and the files that it describes.
func readLocked(dir string) (*lock.Lock, []templates.File, error) {
	l, err := readLock(dir)
	if err != nil {
		return nil, nil, err
	}
	if err := readableFiles(dir, l.Paths()); err != nil {
		return nil, nil, err
	}
	return l, projectFiles(dir, l), nil
}
