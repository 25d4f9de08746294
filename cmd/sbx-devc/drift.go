package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/merge"
)

func (a *app) driftCommand() *cobra.Command {
	var edits bool
	cmd := &cobra.Command{
		Use:   "drift [DIR]",
		Short: "Say whether the dev container is behind its template or its lock",
		Long: `Say how the files of DIR/.devcontainer differ from what the template of this
sbx-devc says and from what sandbox.lock describes. Nothing is fetched or
written. Edits of yours are listed and are no drift, unless --edits says so; nor
is a version or a digest that you or a bot brought up to date. A dev container of
your own, which init extended, is compared with what 'init --extend' writes now.

Exit code 0: none; 1: drift; 2: wrong usage; 3: there is no lock, it is of a later
template than this sbx-devc's, or a file cannot be read.`,
		Example: `  sbx-devc drift
  sbx-devc drift --edits projects/api`,
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{annotationChecker: ""},
		RunE:        func(_ *cobra.Command, args []string) error { return a.drift(edits, a.projectDir(args)) },
	}
	cmd.Flags().BoolVar(&edits, "edits", false, "count your own edits as drift too")
	return cmd
}

func (a *app) drift(edits bool, dir string) error {
	l, files, err := readLocked(dir)
	if errors.Is(err, errExtended) {
		return a.driftExtended(dir)
	}
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	r, err := lock.Update(l, l.Input(), carried.Sums(), readBelow(dir), merge.Neither)
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	bad := 0
	say := func(format string, args ...any) {
		bad++
		fmt.Fprintf(shown(a.stdout), format+"\n", args...)
	}
	for _, f := range r.Files {
		say("%s: behind template %s %s", f.Path, r.Lock.Template.ID, r.Lock.Template.Version)
	}
	for _, c := range r.Conflicts {
		say("%s %s: changed here and in template %s %s", c.Path, c.Place, r.Lock.Template.ID, r.Lock.Template.Version)
	}
	for _, path := range l.Paths() {
		if readBelow(dir)(path) == nil {
			say("%s: is missing", path)
		}
	}
	stale := l.Stale(files, carried.Sums())
	for _, s := range stale.Other {
		say("%s: %s", lock.Path, s)
	}
	a.noteMoved(stale)
	for _, path := range r.Edited {
		if edits {
			say("%s: edited", path)
		} else {
			fmt.Fprintf(a.stderr, "sbx-devc: note: %s is edited\n", path)
		}
	}
	if bad > 0 {
		return exitWith(exitFindings, nil)
	}
	return nil
}

// noteMoved says which versions and digests are others than the locked ones.
func (a *app) noteMoved(stale lock.Stale) {
	for _, s := range stale.Moved {
		fmt.Fprintf(shown(a.stderr), "sbx-devc: note: %s; 'sbx-devc lock --update' records it\n", s)
	}
}

// projectFiles reads the files that the lock describes, as they are.
func projectFiles(dir string, l *lock.Lock) []templates.File {
	var out []templates.File
	for _, path := range l.Paths() {
		if text := readBelow(dir)(path); text != nil {
			out = append(out, templates.File{Path: path, Content: text})
		}
	}
	return out
}
