package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
)

// exitFailed is the exit code of an image command whose work failed, such as a
// step of a Dockerfile.
const exitFailed = 1

func (a *app) imageCommand() *cobra.Command {
	image := &cobra.Command{
		Use:   "image",
		Short: "Build, load, push and pull images",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	image.AddCommand(a.imageBuildCommand(), a.imageLoadCommand(), a.imagePushCommand(), a.imagePullCommand())
	return image
}

// withEngine runs f with a connection to the engine and gives its failure an
// exit code.
func withEngine(ctx context.Context, f func(*engine.Engine) error) error {
	e, err := engine.Connect(ctx)
	if err == nil {
		defer e.Close()
		err = f(e)
	}
	var exit *exitError
	switch {
	case err == nil || errors.As(err, &exit):
		return err
	case errors.Is(err, engine.ErrUnavailable):
		return exitWith(exitUnavailable, err)
	case errors.Is(err, imagebuild.ErrTagMoved):
		return exitWith(exitRefused, err)
	case errors.Is(err, fs.ErrNotExist):
		return exitWith(exitNoInput, err)
	case errors.Is(err, engine.ErrNotFound):
		return exitWith(exitNoInput, diag.WithHint(err, "see what the engine has with 'docker images'"))
	}
	return exitWith(exitFailed, err)
}

func (a *app) imageBuildCommand() *cobra.Command {
	var tag, file string
	var args []string
	cmd := &cobra.Command{
		Use:   "build [DIR]",
		Short: "Build a Dockerfile, with sbx-init at hand for COPY --from",
		Long: `Build the dev container's Dockerfile (DIR/.devcontainer/Dockerfile) or, if
there is none, DIR/Dockerfile, with the container engine. The image that holds
sbx-init is put into the engine first, so nothing has to be published.

The image's id is printed on standard output, the build's output on standard error.`,
		Example: `  sbx-devc image build
  sbx-devc image build . --tag my-sandbox:v1 --build-arg CLAUDE_VERSION=2.1.329`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, operands []string) error {
			dir, dockerfile := buildFolder(cmp.Or(append(operands, "")[0], "."), file)
			buildArgs := map[string]string{}
			for _, arg := range args {
				name, value, ok := strings.Cut(arg, "=")
				if !ok || name == "" {
					return exitWith(exitUsage, diag.WithHint(fmt.Errorf("--build-arg %q has no value", arg), "write --build-arg NAME=VALUE"))
				}
				buildArgs[name] = value
			}
			return withEngine(cmd.Context(), func(e *engine.Engine) error {
				id, err := imagebuild.BuildDockerfile(cmd.Context(), e, imagebuild.BuildOptions{
					Context: dir, Dockerfile: dockerfile, Tag: tag, Args: buildArgs, Progress: a.stderr,
				})
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(a.stdout, id)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&tag, "tag", "", "name of the image, as NAME:TAG")
	cmd.Flags().StringVar(&file, "file", "", "the Dockerfile, relative to DIR")
	cmd.Flags().StringArrayVar(&args, "build-arg", nil, "NAME=VALUE; stays in the image's history, so never a secret")
	return cmd
}

// buildFolder returns the build's context and the Dockerfile in it. A dev
// container's context is its own folder.
func buildFolder(dir, file string) (context, dockerfile string) {
	if file != "" {
		return dir, filepath.ToSlash(file)
	}
	devcontainer := filepath.Join(dir, ".devcontainer")
	if _, err := os.Stat(filepath.Join(devcontainer, "Dockerfile")); err == nil {
		return devcontainer, "Dockerfile"
	}
	return dir, "Dockerfile"
}

func (a *app) imageLoadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "load",
		Short: "Put the image that holds sbx-init into the engine",
		Long: `Put the binary-only image that generated Dockerfiles COPY sbx-init from into
the container engine, out of what sbx-devc carries. Its name is printed.`,
		Example: "  sbx-devc image load && devcontainer up --workspace-folder .",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withEngine(cmd.Context(), func(e *engine.Engine) error {
				ref, err := imagebuild.LoadInit(cmd.Context(), e)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(a.stdout, ref)
				return err
			})
		},
	}
}

func (a *app) imagePushCommand() *cobra.Command {
	var o imagebuild.PushOptions
	cmd := &cobra.Command{
		Use:   "push IMAGE [REF…]",
		Short: "Push an image of the engine to a registry, under versioned names",
		Long: `Push IMAGE under every REF, or under its own name. A tag that is a full version
(v1.2.3) never moves to another digest unless --force-tag says so. Every tag is
read back. Each pushed reference is printed with its digest.

Credentials are those of 'docker login' and 'podman login'.`,
		Example: `  sbx-devc image push my-sandbox ghcr.io/me/sandbox:v1.2.3 ghcr.io/me/sandbox:v1 ghcr.io/me/sandbox:latest`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, operands []string) error {
			image, refs := operands[0], operands[1:]
			if len(refs) == 0 {
				refs = operands
			}
			a.describe(&o, refs)
			return withEngine(cmd.Context(), func(e *engine.Engine) error {
				fmt.Fprintf(a.stderr, "sbx-devc: pushing %s as %s\n", image, strings.Join(refs, ", "))
				pushed, err := imagebuild.Push(cmd.Context(), e, image, refs, o)
				if pushed != nil {
					for _, tag := range pushed.Tags {
						fmt.Fprintf(a.stdout, "%s@%s\n", tag, pushed.Digest)
					}
				}
				return err
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.ForceTag, "force-tag", false, "move a version's tag although it exists with another digest")
	f.StringVar(&o.Version, "version", "", "label org.opencontainers.image.version (default: from the tags)")
	f.StringVar(&o.Revision, "revision", "", "label …revision, the commit (default: GITHUB_SHA)")
	f.StringVar(&o.Source, "source", "", "label …source, the repository's URL (default: from GITHUB_REPOSITORY)")
	f.StringVar(&o.Title, "title", "", "label …title (default: the last part of the name)")
	f.StringVar(&o.Licenses, "licenses", "", "label …licenses, an SPDX expression")
	return cmd
}

// describe fills in the labels that nobody gave, from the references and from
// the variables of GitHub Actions.
func (a *app) describe(o *imagebuild.PushOptions, refs []string) {
	name, tag, _ := strings.Cut(refs[0][strings.LastIndex(refs[0], "/")+1:], ":")
	o.Title = cmp.Or(o.Title, name)
	for _, ref := range refs {
		_, t, _ := strings.Cut(ref[strings.LastIndex(ref, "/")+1:], ":")
		if imagebuild.IsVersion(t) {
			tag = t
			break
		}
	}
	if imagebuild.IsVersion(tag) {
		o.Version = cmp.Or(o.Version, strings.TrimPrefix(tag, "v"))
	}
	o.Revision = cmp.Or(o.Revision, a.getenv("GITHUB_SHA"))
	if repo := a.getenv("GITHUB_REPOSITORY"); repo != "" {
		o.Source = cmp.Or(o.Source, cmp.Or(a.getenv("GITHUB_SERVER_URL"), "https://github.com")+"/"+repo)
	}
}

func (a *app) imagePullCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pull REF",
		Short: "Pull an image from a registry into the engine, every byte checked",
		Long: `Pull REF (by tag, or by digest as NAME@sha256:…) for the engine's architecture.
The image's id is printed; the digest goes to standard error.`,
		Example: "  sbx-devc image pull ghcr.io/me/sandbox:v1.2.3",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, operands []string) error {
			return withEngine(cmd.Context(), func(e *engine.Engine) error {
				pulled, err := imagebuild.Pull(cmd.Context(), e, operands[0])
				if err != nil {
					return err
				}
				fmt.Fprintf(a.stderr, "sbx-devc: pulled %s, digest %s\n", operands[0], pulled.Digest)
				_, err = fmt.Fprintln(a.stdout, pulled.ID)
				return err
			})
		},
	}
}
