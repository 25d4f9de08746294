package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
)

func (a *app) lockCommand() *cobra.Command {
	var update, check, strict bool
	cmd := &cobra.Command{
		Use:   "lock [DIR]",
		Short: "Show, check or renew the digests that the dev container was made from",
		Long: `Show what DIR/.devcontainer/sandbox.lock holds: template, Claude Code, sbx-init
and every image that the files name, with its digest.

--update asks the registries for the digests, of Features too, which go to the
standard devcontainer-lock.json. When a registry cannot be reached, the digest is
taken by which the container engine got the image from there, and that is said.
--check asks nobody: it compares the lock with the files. An image whose digest
was never looked up, as init leaves it, is a note, or with --strict a finding. Of a
dev container of your own, which init extended by the Feature, both are about
Features only.

Exit code 0: shown, renewed, or the lock is right; 1: it is not; 2: wrong usage;
3: there is no lock, a file cannot be read, or a digest could not be had; nothing
is written then.`,
		Example: `  sbx-devc lock
  sbx-devc lock --update
  sbx-devc lock --check`,
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{annotationChecker: ""},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := a.projectDir(args)
			switch {
			case update && check:
				return exitWith(exitCheckUsage, diag.WithHint(errors.New("--update and --check exclude each other"), "--check compares and writes nothing; --update asks the registries and writes"))
			case update:
				d, err := a.digests()
				if err != nil {
					return exitWith(exitNoCheck, err)
				}
				defer d.close()
				return a.lockUpdate(cmd.Context(), dir, d)
			case strict && !check:
				return exitWith(exitCheckUsage, diag.WithHint(errors.New("--strict is about --check"), "add --check"))
			case check:
				return a.lockCheck(dir, strict)
			}
			return a.lockShow(dir)
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "ask the registries for the digests and write them")
	cmd.Flags().BoolVar(&check, "check", false, "compare the lock with the files; exit 1 if it does not describe them")
	cmd.Flags().BoolVar(&strict, "strict", false, "with --check: also exit 1 for an image whose digest was never looked up")
	return cmd
}

func (a *app) lockShow(dir string) error {
	l, err := readLock(dir)
	if errors.Is(err, errExtended) {
		return a.lockShowExtended(dir)
	}
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	out := shown(a.stdout)
	fmt.Fprintf(out, "template  %s %s %s\n", l.Template.ID, l.Template.Version, l.Template.Digest)
	fmt.Fprintf(out, "claude    %s\n", l.Claude.Version)
	fmt.Fprintf(out, "sbx-init  %s\n", l.SbxInit.Image)
	for _, i := range l.Images {
		digest := i.Digest
		if digest == "" {
			digest = "(not looked up)"
		}
		fmt.Fprintf(out, "image     %s %s\n", i.Reference, digest)
	}
	return nil
}

func (a *app) lockCheck(dir string, strict bool) error {
	l, files, err := locked(dir)
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	var stale []string
	if l != nil {
		s := l.Stale(files, carried.Sums())
		if !strict {
			for _, u := range s.Unknown {
				fmt.Fprintf(shown(a.stderr), "sbx-devc: note: %s; 'sbx-devc lock --update' looks it up\n", u)
			}
			s.Unknown = nil
		}
		stale = s.All()
	}
	features, err := lock.StaleFeatures(files, readBelow(dir)(lock.FeaturesPath))
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	for _, s := range append(stale, features...) {
		fmt.Fprintln(shown(a.stdout), s)
	}
	if len(stale)+len(features) > 0 {
		fmt.Fprintln(a.stderr, "sbx-devc: 'sbx-devc lock --update' renews the lock")
		return exitWith(exitFindings, nil)
	}
	return nil
}

// locked returns the lock and the files that it describes. Of a dev container
// that was extended only the Features are locked: it is nil then.
func locked(dir string) (*lock.Lock, []templates.File, error) {
	l, files, err := readLocked(dir)
	if errors.Is(err, errExtended) {
		files := []templates.File{{Path: configPath, Content: readBelow(dir)(configPath)}}
		return nil, files, lock.WellFormed(files)
	}
	if err != nil {
		return nil, nil, err
	}
	return l, files, lock.WellFormed(files)
}

// lockUpdate renews the lock and the standard's lock of Features: both or, when
// one digest cannot be had, neither.
func (a *app) lockUpdate(ctx context.Context, dir string, r lock.Resolver) error {
	l, files, err := locked(dir)
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	var failed []error
	if l != nil {
		l.Describe(files, l)
		l.RenewInit(carried.Sums())
		failed = l.LookUp(ctx, r)
	}
	features, err := lock.LockFeatures(ctx, files, r)
	if err != nil {
		failed = append(failed, err)
	}
	for _, err := range failed {
		a.printError(err)
	}
	if len(failed) > 0 {
		return exitWith(exitNoCheck, diag.WithHint(fmt.Errorf("%s could not be looked up", count(len(failed), "digest")), "nothing was written; try again when the registry answers"))
	}
	var out []templates.File
	if l != nil {
		out = append(out, templates.File{Path: lock.Path, Content: l.Encode()})
	}
	if features != nil {
		out = append(out, templates.File{Path: lock.FeaturesPath, Content: features})
	}
	return a.writeLocks(dir, out)
}

// writeLocks writes the files that change, all or none.
func (a *app) writeLocks(dir string, files []templates.File) error {
	files = slices.DeleteFunc(files, func(f templates.File) bool { return unchanged(dir, f) })
	if len(files) == 0 {
		fmt.Fprintln(a.stderr, "sbx-devc: the lock is up to date")
		return nil
	}
	if err := templates.WriteFiles(dir, files, true); err != nil {
		return exitWith(exitNoCheck, err)
	}
	for _, f := range files {
		fmt.Fprintf(a.stderr, "sbx-devc: wrote %s\n", filepath.Join(dir, filepath.FromSlash(f.Path)))
	}
	return nil
}
