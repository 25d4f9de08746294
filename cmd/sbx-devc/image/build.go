package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/lock"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/session/images"
)

type buildOptions struct {
	recipe
	imagebuild.Output
	login      connect.Login
	dockerfile string
	args       []string
	load       bool
	initOnly   bool
}

func buildCommand(a *cli.App) *cobra.Command {
	var o buildOptions
	cmd := &cobra.Command{
		Use:   "build [DIR]",
		Short: "Build the image that DIR/" + lock.File + " describes, or a Dockerfile",
		Long: `With a lock: lay Claude Code, sbx-init and the policy on the locked base, for all
of its platforms, without an engine and without emulation. The same lock and
policy give the same digest on every machine. The index's digest is printed, or
with --load the image's id.

Without one, or with --dockerfile: build the dev container's Dockerfile
(DIR/.devcontainer/Dockerfile) or, if there is none, DIR/Dockerfile, or if there
is none either the image that a run takes by default, with the container
engine. The image that holds sbx-init is put into the engine first, so nothing
has to be published. BuildKit builds it where the engine has it, the
classic builder otherwise or with DOCKER_BUILDKIT=0. The image's id is printed,
the build's output goes to standard error.

Exit code 0: built; 1: a step failed; 64: wrong usage; 65: the lock does not fit;
66: a file is missing; 69: no container engine.`,
		Example: `  sbx-devc image build --load --tag my-sandbox
  sbx-devc image build --oci out --without-claude
  sbx-devc image build . --dockerfile Dockerfile --tag my-sandbox:v1 --build-arg CLAUDE_VERSION=2.1.329`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, operands []string) error {
			o.dir = append(operands, ".")[0]
			return build(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Tag, "tag", "", "name of the image in the engine or the file, as NAME:TAG")
	f.StringVar(&o.dockerfile, "dockerfile", "", "build this Dockerfile, relative to DIR, with the engine")
	f.StringArrayVar(&o.args, "build-arg", nil, "NAME=VALUE for the Dockerfile; stays in the image's history, so never a secret")
	f.StringVar(&o.OCI, "oci", "", "write an OCI image layout into this folder")
	f.StringVar(&o.Tar, "tar", "", "write an OCI archive to this file, which 'docker load' reads, too")
	f.BoolVar(&o.load, "load", false, "put the image for the engine's platform into the engine")
	f.BoolVar(&o.initOnly, "init-only", false, "build the image that holds nothing but sbx-init")
	o.recipe.flags(f)
	o.login.Flags(f)
	return cmd
}

func build(ctx context.Context, a *cli.App, o buildOptions) error {
	buildArgs := map[string]string{}
	for _, arg := range o.args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return exitcode.With(exitcode.Usage, diag.WithHint(fmt.Errorf("--build-arg %q has no value", arg), "write --build-arg NAME=VALUE"))
		}
		buildArgs[name] = value
	}
	if err := cmp.Or(o.Check(), imagebuild.CheckPlatforms(o.platforms)); err != nil {
		return err
	}
	m, err := materials(a, o.login, o.npm)
	if err != nil {
		return connect.Error(err)
	}
	var made artifact.Artifact
	switch _, lockErr := os.Stat(o.lockFile()); {
	case o.initOnly:
		made, err = initArtifact(ctx, a, &o.recipe)
	case o.dockerfile != "" || lockErr != nil && o.lock == "":
		id, err := buildDockerfile(ctx, a, o, buildArgs)
		if err != nil || o.OCI == "" && o.Tar == "" {
			return err
		}
		made, err = fromEngine(ctx, a, m, id, &o.recipe)
		if err != nil {
			return connect.Error(err)
		}
	case len(buildArgs) > 0:
		return exitcode.With(exitcode.Usage, diag.WithHint(errors.New("--build-arg without a Dockerfile"), "name it with --dockerfile"))
	default:
		var s imagebuild.Spec
		if s, err = spec(ctx, a, &o.recipe); err == nil {
			made, err = imagebuild.Assemble(m, s)
		}
	}
	if err != nil {
		return connect.Error(err)
	}
	return connect.Error(writeImage(ctx, a.Stdout, o, made))
}

// writeImage writes the image wherever the flags say, and prints what it is
// called there.
func writeImage(ctx context.Context, to io.Writer, o buildOptions, made artifact.Artifact) error {
	if err := o.Write(ctx, made); err != nil {
		return err
	}
	name := made.Index.Digest.String()
	if o.load {
		err := connect.Engine(ctx, func(e *engine.Engine) (err error) {
			name, err = imagebuild.Load(ctx, e, made, o.Names())
			return err
		})
		if err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(to, name)
	return err
}

func initArtifact(ctx context.Context, a *cli.App, r *recipe) (artifact.Artifact, error) {
	binaries, err := imagebuild.CarriedInits()
	if err != nil {
		return artifact.Artifact{}, err
	}
	r.about.Title = cmp.Or(r.about.Title, "claude-sandbox-init")
	r.checkout(a).Describe(ctx, &r.about)
	return imagebuild.InitArtifact(binaries, r.about)
}

// buildDockerfile builds with the engine and prints the image's id.
func buildDockerfile(ctx context.Context, a *cli.App, o buildOptions, args map[string]string) (id string, err error) {
	dir, dockerfile := imagebuild.DockerfileIn(o.dir, o.dockerfile)
	_, statErr := os.Stat(filepath.Join(dir, dockerfile))
	if o.dockerfile == "" && errors.Is(statErr, fs.ErrNotExist) && filekind.IsFolder(dir) {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: %s has no Dockerfile: building the image that a run takes by default\n", o.dir)
		err = imagebuild.InFolder(images.DefaultFiles(), func(folder string) error {
			o.dir, o.dockerfile = folder, "Dockerfile"
			id, err = buildDockerfile(ctx, a, o, args)
			return err
		})
		return id, err
	}
	err = connect.Engine(ctx, func(e *engine.Engine) error {
		id, err = imagebuild.BuildDockerfile(ctx, e, imagebuild.BuildOptions{
			Context: dir, Dockerfile: dockerfile, Tag: o.Tag, Args: args, Progress: a.Stderr,
			Classic: a.Getenv("DOCKER_BUILDKIT") == "0", // as the docker command understands it
		})
		if err != nil || o.OCI != "" || o.Tar != "" {
			return err
		}
		_, err = fmt.Fprintln(a.Stdout, id)
		return err
	})
	return id, err
}

// fromEngine returns an image of the engine, as it is published.
func fromEngine(ctx context.Context, a *cli.App, m imagebuild.Materials, image string, r *recipe) (artifact.Artifact, error) {
	opened, err := base.Open(ctx, base.Sources{Store: m.Store, Registry: m.Registry, Save: m.Save}, string(base.KindEngine)+":"+image, nil)
	if err != nil {
		return artifact.Artifact{}, err
	}
	for _, i := range opened.Images { // a title of its own is better than ours
		r.about.Title = cmp.Or(r.about.Title, i.Config.Config.Labels["org.opencontainers.image.title"])
	}
	r.checkout(a).Describe(ctx, &r.about)
	return imagebuild.Relabel(opened, r.about)
}
