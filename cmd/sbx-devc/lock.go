package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/imagebuild/digest"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/scaffold"
)

func (a *app) lockCommand() *cobra.Command {
	var update, check, strict bool
	cmd := &cobra.Command{
		Use:   "lock [DIR]",
		Short: "Show, check or renew the digests that the dev container was made from",
		Long: `Show what DIR/.devcontainer/sandbox.lock holds: template, Claude Code, sbx-init
and every image that the files name, with its digest.

--update asks the registries for the digests, of Features too, which go to the
standard devcontainer-lock.json. If a registry cannot be reached, --update takes the
digest by which the container engine got the image, and says so. --check works
offline: it compares the lock with the files. An image whose digest was never
looked up, as after init, is a note, or with --strict a finding. For a dev
container of your own, which init extended by the Feature, both treat Features only.

Exit code 0: shown, renewed, or the lock is right; 1: it is not; 2: wrong usage;
3: there is no lock, a file cannot be read, or a digest could not be had; nothing
is written then.`,
		Example: `  sbx-devc lock
  sbx-devc lock --update
  sbx-devc lock --check`,
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{annotationChecker: ""},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := scaffold.Folder(a.projectDir(args))
			switch {
			case update && check:
				return exitWith(exitCheckUsage, diag.WithHint(errors.New("--update and --check exclude each other"),
					"--check compares and writes nothing; --update asks the registries and writes"))
			case update:
				options, err := a.registryOptions(login{})
				if err != nil {
					return exitWith(exitNoCheck, err)
				}
				source := digest.New(options)
				defer source.Close()
				return a.lockUpdate(cmd.Context(), dir, source)
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

func (a *app) lockShow(dir scaffold.Folder) error {
	l, err := scaffold.ReadLock(dir)
	if errors.Is(err, scaffold.ErrExtended) {
		return lockShowExtended(a.stdout, dir)
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

func (a *app) lockCheck(dir scaffold.Folder, strict bool) error {
	p, err := scaffold.OpenPinned(dir)
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	stale, unknown, err := p.Stale()
	for _, u := range unknown {
		if strict {
			stale = append(stale, u)
		} else {
			fmt.Fprintf(shown(a.stderr), "sbx-devc: note: %s; 'sbx-devc lock --update' looks it up\n", u)
		}
	}
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	for _, s := range stale {
		fmt.Fprintln(shown(a.stdout), s)
	}
	if len(stale) > 0 {
		fmt.Fprintln(a.stderr, "sbx-devc: 'sbx-devc lock --update' renews the lock")
		return exitWith(exitFindings, nil)
	}
	return nil
}

// lockUpdate renews the lock and the standard's lock of Features: both or, when
// one digest cannot be had, neither.
func (a *app) lockUpdate(ctx context.Context, dir scaffold.Folder, r lock.Resolver) error {
	p, err := scaffold.OpenPinned(dir)
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	files, failed := p.Renew(ctx, r)
	for _, err := range failed {
		a.printError(err)
	}
	if len(failed) > 0 {
		return exitWith(exitNoCheck, diag.WithHint(fmt.Errorf("%s could not be looked up", count(len(failed), "digest")),
			"nothing was written; try again when the registry answers"))
	}
	if files = dir.Changed(files); len(files) == 0 {
		fmt.Fprintln(a.stderr, "sbx-devc: the lock is up to date")
		return nil
	}
	if err := templates.WriteFiles(string(dir), files, true); err != nil {
		return exitWith(exitNoCheck, err)
	}
	a.wrote(dir, files)
	return nil
}
