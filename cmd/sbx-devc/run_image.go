package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
)

// labelClaude names the Claude Code that 'image build' put into an image.
const labelClaude = "claude-sandbox.claude.version"

// defaultImage makes sure that the engine has the image of a run that names
// none: the default one if it is there with Claude Code in it, as after 'sandbox
// build', and otherwise the default template's, built here from what sbx-devc
// carries. The published one is never pulled for that: it holds no Claude Code.
// option is what names another one, for people.
func (a *app) defaultImage(ctx context.Context, e *engine.Engine, plan *sandbox.Plan, option string) error {
	files, built, err := defaultFiles()
	if err != nil {
		return err
	}
	use := func(image string) { plan.Sidecar.Image, plan.Agent.Image = image, image }
	switch lacks, err := lacksClaude(ctx, e, plan.Agent.Image, plan.ClaudePath()); {
	case err == nil && !lacks:
		return nil
	case err == nil:
		fmt.Fprintf(a.stderr, "sbx-devc: note: %s has no Claude Code, as the published image has none; taking one that is built here\n", plan.Agent.Image)
	case !errors.Is(err, engine.ErrNotFound):
		return err
	}
	if _, err := e.ImageInspect(ctx, built); err == nil {
		use(built)
		return nil
	} else if !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	fmt.Fprintln(a.stderr, "building the default image, which takes a minute or two, once")
	err = inFolder(files, func(folder string) error {
		_, err := imagebuild.BuildDockerfile(ctx, e, imagebuild.BuildOptions{Context: folder, Tag: built, Progress: a.stderr})
		return err
	})
	if err != nil {
		return diag.WithHint(fmt.Errorf("building the default image: %w", err), "name an image with %s", option)
	}
	use(built)
	return nil
}

// defaultFiles are the files that the default image is built from, and the name
// that it gets by their content.
func defaultFiles() (files []templates.File, name string, err error) {
	_, files, err = lock.New(lock.Input{Template: "claude"}, nil)
	if err != nil {
		return nil, "", err
	}
	hash := sha256.New()
	for _, f := range files {
		fmt.Fprintf(hash, "%s %d\n%s", f.Path, len(f.Content), f.Content)
	}
	return files, "claude-sandbox-default:" + hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// inFolder writes the files of a dev container into a folder of their own for as
// long as use works, which gets the folder of the Dockerfile.
func inFolder(files []templates.File, use func(folder string) error) error {
	dir, err := os.MkdirTemp("", "claude-sandbox-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := templates.WriteFiles(dir, files, false); err != nil {
		return err
	}
	return use(filepath.Join(dir, ".devcontainer"))
}

// needClaude refuses an agent's image without Claude Code, before anything
// starts: what the agent's container would end with says less.
func needClaude(ctx context.Context, e *engine.Engine, plan *sandbox.Plan, option string) error {
	lacks, err := lacksClaude(ctx, e, plan.Agent.Image, plan.ClaudePath())
	if err != nil || !lacks {
		return err
	}
	err = fmt.Errorf("%w: the image %s has no Claude Code at %s", sandbox.ErrNoStart, plan.Agent.Image, plan.ClaudePath())
	return diag.WithHint(err, "leave %s out to have an image built here, build one with 'sbx-devc image build --load --tag NAME', or say with --claude-path where claude is", option)
}

// lacksClaude reports whether an image of the engine has nothing at path. It errs
// on the side of having it where the engine cannot tell. The error wraps
// engine.ErrNotFound when the engine has no such image.
func lacksClaude(ctx context.Context, e *engine.Engine, image, path string) (bool, error) {
	info, err := e.ImageInspect(ctx, image)
	if err != nil || info.Labels[labelClaude] != "" && path == sandbox.DefaultClaudePath {
		return false, err
	}
	has, err := e.ImageHas(ctx, image, path)
	return err == nil && !has, nil
}
