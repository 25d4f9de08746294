package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/imagebuild/lock"
	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

type lockOptions struct {
	recipe // only its folder, its lock file and the npm registry
	making imagebuild.LockOptions
	login  connect.Login
	dryRun bool
}

func lockCommand(a *cli.App) *cobra.Command {
	var o lockOptions
	cmd := &cobra.Command{
		Use:   "lock [DIR]",
		Short: "Pin by digest what an image is made of",
		Long: `Write DIR/` + lock.File + `: the base image, Claude Code's packages and sbx-init,
each by digest and checked. A base is

  REGISTRY/NAME:TAG[@sha256:…]   an image in a registry
  oci:DIR[:NAME]                 an OCI image layout
  docker-archive:FILE            a file of 'docker save'
  engine:NAME                    an image of the container engine
  rootfs:FILE                    a tar of a root file system

for all platforms, or for one when written PLATFORM=SOURCE. It needs bash,
iptables and ipset. A lock that exists is brought up to date, as a whole or in
the parts that --update names.

Exit code 0: written, or nothing to change; 1: something could not be looked up
or was refused; 64: wrong usage; 65: the lock that exists cannot be read; 66: there
is no such base or folder; 69: no container engine; 78: the registry does not
accept the credentials.`,
		Example: `  sbx-devc image lock --base mcr.example.com/devcontainers/base:bookworm
  sbx-devc image lock --base linux/amd64=engine:my-base --claude 2.1.329
  sbx-devc image lock --update claude`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, operands []string) error {
			o.dir = append(operands, ".")[0]
			return makeLock(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.making.Bases, "base", nil, "base image, or PLATFORM=SOURCE (repeatable)")
	f.StringSliceVar(&o.making.Platforms, "platform", nil,
		"platforms to take of the base (default: linux/amd64 and linux/arm64 as far as it has them)")
	f.StringVar(&o.making.Claude, "claude", "", "version of Claude Code: latest or X.Y.Z")
	f.BoolVar(&o.making.NoClaude, "without-claude", false, "lock no Claude Code")
	f.StringSliceVar(&o.making.Update, "update", nil, "bring only these parts up to date: base, claude, sbx")
	f.StringVar(&o.lock, "lock", "", "the lock file (default: DIR/"+lock.File+")")
	f.StringVar(&o.npm, "npm-registry", "", "address of an npm registry (default: NPM_CONFIG_REGISTRY, or the public one)")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the lock instead of writing it")
	o.login.Flags(f)
	return cmd
}

func makeLock(ctx context.Context, a *cli.App, o lockOptions) error {
	if info, err := os.Stat(o.dir); err != nil {
		return exitcode.With(exitcode.NoInput, err)
	} else if !info.IsDir() {
		return exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("%s is a file", o.dir), "name the folder that gets the lock"))
	}
	m, err := materials(a, o.login, o.npm)
	if err != nil {
		return connect.Error(err)
	}
	switch old, err := lock.Read(o.lockFile()); {
	case err == nil:
		o.making.Old = &old
	case !errors.Is(err, fs.ErrNotExist):
		return connect.Error(err)
	}
	if o.making.SourceDate, err = o.checkout(a).Date(ctx); err != nil {
		return err
	}
	made, err := imagebuild.MakeLock(ctx, m, o.making)
	if err != nil {
		return connect.Error(err)
	}
	if o.making.Old != nil && a.Getenv("SOURCE_DATE_EPOCH") == "" && made.SaysSame(*o.making.Old) {
		fmt.Fprintf(a.Stderr, "sbx-devc: %s is up to date\n", o.lockFile())
		return nil
	}
	text, err := made.Format()
	if err != nil {
		return connect.Error(err)
	}
	if o.dryRun {
		_, err := a.Stdout.Write(text)
		return err
	}
	if err := atomicfile.WriteBytes(o.lockFile(), 0o644, text); err != nil {
		return connect.Error(fmt.Errorf("writing the lock: %w", err))
	}
	_, err = fmt.Fprintln(a.Stdout, o.lockFile())
	return err
}
