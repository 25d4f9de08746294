package image

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/imagebuild/sign"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/progress"
)

type pushOptions struct {
	recipe
	login    connect.Login
	image    string
	oci      string
	initOnly bool
	fromGit  bool
	gitRef   gitRef
	forceTag bool
	dryRun   bool
	noSBOM   bool
	signing  signing
	jobs     int
	json     bool
	pinned   string
}

func pushCommand(a *cli.App) *cobra.Command {
	var o pushOptions
	cmd := &cobra.Command{
		Use:   "push REF…",
		Short: "Push an image to a registry, under versioned names",
		Long: `Push the image that ` + "`--dir`" + `'s lock describes, an image of the engine (--image), an
OCI layout (--oci) or the image that holds sbx-init (--init-only) under every
REF, written REGISTRY/NAME:TAG. With --git-tags, git and the registry decide the
tags; see 'image tags'. A REF without a tag is pushed by digest alone.

Only blobs that the registry lacks are sent. Tags are written last, after everything
was read back, so a tag never leads to half an image. The next push continues an
interrupted one. A tag that is a full
version (v1.2.3) or a commit never moves to another digest unless --force-tag
says so. An SBOM and a provenance statement are attached to images made from a
lock. Each reference is printed with its digest. With --pinned FILE the image is
also written there as NAME@sha256:…, for 'image pull --pinned FILE'. With --sign
cosign signs the digest and those of its platforms, before the tags are written.
cosign reads its other settings from its environment, for example COSIGN_PASSWORD.

Credentials: --username and --password-stdin; GITHUB_TOKEN or GH_TOKEN for
ghcr.io; those of 'docker login' and 'podman login'; 'gh auth token' for ghcr.io.

Exit code 0: pushed, or nothing to do; 1: it failed; 64: wrong usage; 65: the
lock does not fit; 66: a file or image is missing; 69: no container engine; 77: a
version's tag would move; 78: the registry does not accept the credentials.`,
		Example: `  sbx-devc image push ghcr.io/me/sandbox:v1.2.3 ghcr.io/me/sandbox:latest
  sbx-devc image push ghcr.io/me/sandbox --git-tags --without-claude
  sbx-devc image push --image my-sandbox ghcr.io/me/sandbox:v1.2.3 --dry-run
  sbx-devc image push ghcr.io/me/sandbox:v1.2.3 --sign cosign --key cosign.key`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, refs []string) error {
			return connect.Error(push(cmd.Context(), a, o, refs))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.dir, "dir", ".", "the project's folder, with the lock")
	f.StringVar(&o.image, "image", "", "push this image of the container engine")
	f.StringVar(&o.oci, "oci", "", "push the image in this OCI layout, DIR[:NAME]")
	f.BoolVar(&o.initOnly, "init-only", false, "push the image that holds nothing but sbx-init")
	f.BoolVar(&o.fromGit, "git-tags", false, "add the tags that git's state asks for")
	o.gitRef.flags(f)
	f.BoolVar(&o.forceTag, "force-tag", false, "move a version's tag although it exists with another digest")
	f.BoolVar(&o.dryRun, "dry-run", false, "write nothing; list what each blob would cost")
	f.BoolVar(&o.noSBOM, "no-sbom", false, "attach no SBOM and no provenance")
	o.signing.flags(f)
	f.IntVar(&o.jobs, "jobs", 4, "blobs to send at a time")
	f.StringVar(&o.pinned, "pinned", "", "write NAME@DIGEST to this file when everything is pushed")
	f.BoolVar(&o.json, "json", false, "print a report in JSON")
	o.recipe.flags(f)
	o.login.Flags(f)
	cli.Exclusive(cmd, "image", "oci", "init-only")
	return cmd
}

func push(ctx context.Context, a *cli.App, o pushOptions, refs []string) error {
	to, err := imagebuild.Destinations(refs)
	if err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	switch {
	case o.pinned != "" && len(to) > 1:
		return exitcode.With(exitcode.Usage, diag.WithHint(errors.New("--pinned with more than one repository"),
			"push to each on its own: the file names one image"))
	case o.pinned != "" && o.dryRun:
		return exitcode.With(exitcode.Usage, diag.WithHint(errors.New("--pinned with --dry-run, which pushes nothing"), "leave one of them out"))
	}
	if err := imagebuild.CheckPlatforms(o.platforms); err != nil {
		return err
	}
	m, err := materials(a, o.login, o.npm)
	if err != nil {
		return err
	}
	signer, err := signer(a, o.signing, m.Registry.Credentials)
	if err != nil {
		return err
	}
	if version, ok := strings.CutPrefix(o.gitRef.ref, "refs/tags/v"); ok && o.about.Version == "" {
		o.about.Version = version
	}
	var s imagebuild.Spec
	if o.fromLock() {
		if s, err = spec(ctx, a, &o.recipe); err != nil {
			return err
		}
	}
	for _, d := range to {
		if err := pushTo(ctx, a, o, d, m, s, signer); err != nil {
			return err
		}
	}
	return nil
}

// fromLock reports whether the image is made from a lock. Only of such a one are
// the materials known, for an SBOM and a provenance statement.
func (o *pushOptions) fromLock() bool { return o.image == "" && o.oci == "" && !o.initOnly }

// pushTo pushes to one repository, or says what that would cost.
func pushTo(ctx context.Context, a *cli.App, o pushOptions, to imagebuild.Destination, m imagebuild.Materials, s imagebuild.Spec,
	signer sign.Func) error {
	made, err := toPush(ctx, a, o, m, s)
	if err != nil {
		return err
	}
	c, err := registry.Dial(ctx, to.Repository, !o.dryRun, made.Sources(), m.Registry)
	if err != nil {
		return err
	}
	if o.fromGit {
		claude := ""
		if s.Lock.Claude != nil && !s.WithoutClaude {
			claude = s.Lock.Claude.Version
		}
		decision, err := decideTags(ctx, a, c, o.gitRef, o.dir, claude)
		if err != nil {
			return err
		}
		to.Tags = append(to.Tags, decision.Tags...)
	}
	bars := (&progress.Reporter{Out: a.Stderr, Columns: a.Columns()}).Transfers()
	show := func(p registry.Progress) { bars.Update(transfer(p)) }
	options := registry.PushOptions{Tags: to.Tags, ForceTag: o.forceTag, Jobs: o.jobs, Sign: signer, Progress: show}
	if o.fromLock() && !o.noSBOM {
		options.Kinds = imagebuild.Kinds()
		options.Referrers = func(ctx context.Context) ([]artifact.Manifest, error) {
			return imagebuild.Documents(ctx, m, s, made, to.Repository, o.checkout(a).Run())
		}
	}
	push := registry.Push
	if o.dryRun {
		push = registry.Plan
	}
	report, err := push(ctx, c, made, options)
	bars.End()
	if err != nil {
		return err
	}
	if o.dryRun && options.Referrers != nil && !report.Unchanged {
		fmt.Fprintln(a.Stderr, "sbx-devc: the SBOM and the provenance statement come on top; they are made when it is pushed")
	}
	if err := printPush(a, report, o); err != nil {
		return err
	}
	if o.pinned != "" {
		return imagebuild.WritePinned(o.pinned, report.Repository, report.Digest.String())
	}
	return nil
}

// toPush returns the image that the flags name.
func toPush(ctx context.Context, a *cli.App, o pushOptions, m imagebuild.Materials, s imagebuild.Spec) (artifact.Artifact, error) {
	switch {
	case o.initOnly:
		return initArtifact(ctx, a, &o.recipe)
	case o.image != "":
		return fromEngine(ctx, a, m, o.image, &o.recipe)
	case o.oci != "":
		return base.Layout(o.oci)
	}
	return imagebuild.Assemble(m, s)
}
