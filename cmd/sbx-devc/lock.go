package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
)

func (a *app) lockCommand() *cobra.Command {
	var update, check bool
	cmd := &cobra.Command{
		Use:   "lock [DIR]",
		Short: "Show, check or renew the digests that the dev container was made from",
		Long: `Show what DIR/.devcontainer/sandbox.lock holds: template, Claude Code, sbx-init
and every image that the files name, with its digest.

--update asks the registries for the digests, of Features too, which go to the
standard devcontainer-lock.json. --check asks nobody: it compares the lock with
the files.

Exit code 0: shown, renewed, or the lock is right; 1: it is not; 2: wrong usage;
3: there is no lock, or a registry could not be asked; what it did answer is kept.`,
		Example: `  sbx-devc lock
  sbx-devc lock --update
  sbx-devc lock --check`,
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{annotationChecker: ""},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := append(args, ".")[0]
			switch {
			case update && check:
				return exitWith(exitCheckUsage, errors.New("--update and --check exclude each other"))
			case update:
				return a.lockUpdate(cmd.Context(), dir)
			case check:
				return a.lockCheck(dir)
			}
			return a.lockShow(dir)
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "ask the registries for the digests and write them")
	cmd.Flags().BoolVar(&check, "check", false, "compare the lock with the files; exit 1 if it does not describe them")
	return cmd
}

func (a *app) lockShow(dir string) error {
	l, err := readLock(dir)
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	fmt.Fprintf(a.stdout, "template  %s %s %s\n", l.Template.ID, l.Template.Version, l.Template.Digest)
	fmt.Fprintf(a.stdout, "claude    %s\n", l.Claude.Version)
	fmt.Fprintf(a.stdout, "sbx-init  %s\n", l.SbxInit.Image)
	for _, i := range l.Images {
		digest := i.Digest
		if digest == "" {
			digest = "(not looked up)"
		}
		fmt.Fprintf(a.stdout, "image     %s %s\n", i.Reference, digest)
	}
	return nil
}

func (a *app) lockCheck(dir string) error {
	l, err := readLock(dir)
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	files := projectFiles(dir, l)
	stale := l.Stale(files, carried.Sums(), true)
	features, err := lock.StaleFeatures(files, readBelow(dir)(lock.FeaturesPath))
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	for _, s := range append(stale, features...) {
		fmt.Fprintln(a.stdout, s)
	}
	if len(stale)+len(features) > 0 {
		fmt.Fprintln(a.stderr, "sbx-devc: 'sbx-devc lock --update' renews the lock")
		return exitWith(exitFindings, nil)
	}
	return nil
}

func (a *app) lockUpdate(ctx context.Context, dir string) error {
	l, err := readLock(dir)
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	files := projectFiles(dir, l)
	l.Describe(files, l)
	l.SbxInit.SHA256 = carried.Sums()
	failed := l.LookUp(ctx, lock.Registry{})
	out := []templates.File{{Path: lock.Path, Content: l.Encode()}}
	features, err := lock.LockFeatures(ctx, files, lock.Registry{})
	if err != nil {
		failed = append(failed, err)
	} else if features != nil {
		out = append(out, templates.File{Path: lock.FeaturesPath, Content: features})
	}
	for _, f := range out {
		if unchanged(dir, f) {
			continue
		}
		if err := templates.WriteFiles(dir, []templates.File{f}, true); err != nil {
			return exitWith(exitNoCheck, err)
		}
		fmt.Fprintf(a.stderr, "sbx-devc: wrote %s\n", filepath.Join(dir, filepath.FromSlash(f.Path)))
	}
	for _, err := range failed {
		a.printError(err)
	}
	if len(failed) > 0 {
		return exitWith(exitNoCheck, diag.WithHint(fmt.Errorf("%s could not be looked up", count(len(failed), "digest")), "what was known before is kept; try again when the registry answers"))
	}
	return nil
}
