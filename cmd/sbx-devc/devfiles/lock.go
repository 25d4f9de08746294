package devfiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/imagebuild/digest"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/scaffold"
)

func LockCommand(a *cli.App) *cobra.Command {
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
		Annotations: map[string]string{cli.AnnotationChecker: ""},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := scaffold.Folder(projects.Dir(a, args))
			switch {
			case update && check:
				return exitcode.With(exitcode.CheckUsage, diag.WithHint(errors.New("--update and --check exclude each other"),
					"--check compares and writes nothing; --update asks the registries and writes"))
			case update:
				options, err := connect.RegistryOptions(a, connect.Login{})
				if err != nil {
					return exitcode.With(exitcode.NoCheck, err)
				}
				source := digest.New(options)
				defer source.Close()
				return LockUpdate(cmd.Context(), a, dir, source)
			case strict && !check:
				return exitcode.With(exitcode.CheckUsage, diag.WithHint(errors.New("--strict is about --check"), "add --check"))
			case check:
				return lockCheck(a, dir, strict)
			}
			return lockShow(a, dir)
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "ask the registries for the digests and write them")
	cmd.Flags().BoolVar(&check, "check", false, "compare the lock with the files; exit 1 if it does not describe them")
	cmd.Flags().BoolVar(&strict, "strict", false, "with --check: also exit 1 for an image whose digest was never looked up")
	return cmd
}

func lockShow(a *cli.App, dir scaffold.Folder) error {
	l, err := scaffold.ReadLock(dir)
	if errors.Is(err, scaffold.ErrExtended) {
		return lockShowExtended(a.Stdout, dir)
	}
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	out := cli.Shown(a.Stdout)
	fmt.Fprintf(out, "template  %s %s %s\n", l.Template.ID, l.Template.Version, l.Template.Digest)
	fmt.Fprintf(out, "claude    %s\n", l.Claude.Version)
	fmt.Fprintf(out, "sbx-init  %s\n", l.SbxInit.Image)
	for _, i := range l.Images {
		digest := cmp.Or(i.Digest, "(not looked up)")
		fmt.Fprintf(out, "image     %s %s\n", i.Reference, digest)
	}
	return nil
}

func lockCheck(a *cli.App, dir scaffold.Folder, strict bool) error {
	p, err := scaffold.OpenPinned(dir)
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	stale, unknown, err := p.Stale()
	for _, u := range unknown {
		if strict {
			stale = append(stale, u)
		} else {
			fmt.Fprintf(cli.Shown(a.Stderr), "sbx-devc: note: %s; 'sbx-devc lock --update' looks it up\n", u)
		}
	}
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	for _, s := range stale {
		fmt.Fprintln(cli.Shown(a.Stdout), s)
	}
	if len(stale) > 0 {
		fmt.Fprintln(a.Stderr, "sbx-devc: 'sbx-devc lock --update' renews the lock")
		return exitcode.With(exitcode.Findings, nil)
	}
	return nil
}

// LockUpdate renews the lock and the standard's lock of Features: both or, when
// one digest cannot be had, neither.
func LockUpdate(ctx context.Context, a *cli.App, dir scaffold.Folder, r lock.Resolver) error {
	p, err := scaffold.OpenPinned(dir)
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	files, failed := p.Renew(ctx, r)
	for _, err := range failed {
		a.PrintError(err)
	}
	if len(failed) > 0 {
		return exitcode.With(exitcode.NoCheck, diag.WithHint(fmt.Errorf("%s could not be looked up", visible.Count(len(failed), "digest")),
			"nothing was written; try again when the registry answers"))
	}
	if files = dir.Changed(files); len(files) == 0 {
		fmt.Fprintln(a.Stderr, "sbx-devc: the lock is up to date")
		return nil
	}
	if err := templates.WriteFiles(string(dir), files, true); err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	wrote(a, dir, files)
	return nil
}
