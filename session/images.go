package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
)

// labelClaude names the Claude Code that 'image build' put into an image.
const labelClaude = "claude-sandbox.claude.version"

// Images brings the images of a run to an engine.
type Images struct {
	Engine   *engine.Engine
	Getenv   func(string) string // where the credentials of registries are
	Progress io.Writer           // lines for people
	Option   string              // names another image, for people, such as "--image"
}

// Bring makes sure that the engine has the images of the plan. Where nobody names
// one, the default image is built here. It refuses an agent's image without Claude
// Code with sandbox.ErrNoStart. The plan then names what the engine has.
func (i Images) Bring(ctx context.Context, plan *sandbox.Plan) error {
	if plan.Agent.Image == release.Image() && plan.Sidecar.Image == release.Image() {
		return i.bringDefault(ctx, plan)
	}
	return i.bringNamed(ctx, plan)
}

// bringNamed pulls the images that the engine does not have.
func (i Images) bringNamed(ctx context.Context, plan *sandbox.Plan) error {
	for _, image := range []*string{&plan.Sidecar.Image, &plan.Agent.Image} {
		_, err := i.Engine.ImageInspect(ctx, *image)
		if !errors.Is(err, engine.ErrNotFound) {
			if err != nil { // such as a reference that is none
				return diag.WithHint(fmt.Errorf("%w: %w", sandbox.ErrNoStart, err), "name an image with %s, such as NAME:TAG", i.Option)
			}
			continue
		}
		fmt.Fprintf(i.Progress, "sbx-devc: pulling %s\n", *image)
		pulled, err := imagebuild.Pull(ctx, i.Engine, i.registry(), *image, imagebuild.PullOptions{})
		if err != nil {
			err = fmt.Errorf("%w: the engine does not have %s: %w", sandbox.ErrNoStart, *image, err)
			return diag.WithHint(err,
				"name an image that the engine has with %s; 'sbx-devc image build' makes one from the project's .devcontainer", i.Option)
		}
		*image = pulled.Ref // an engine does not know what was loaded by its digest in a registry
	}
	return i.needClaude(ctx, plan)
}

// registry is how registries are reached with the credentials of the environment.
func (i Images) registry() registry.Options {
	home, _ := os.UserHomeDir() // without one there is no configuration to read
	return registry.Real(registry.Credentials{Getenv: i.Getenv, Home: home},
		func(text string) { fmt.Fprintf(i.Progress, "sbx-devc: %s\n", text) })
}

// bringDefault takes the default image if it is there with Claude Code in it, as
// after 'sandbox build', and otherwise the default template's, built here from what
// sbx-devc carries. The published one is never pulled for that: it holds no Claude
// Code.
func (i Images) bringDefault(ctx context.Context, plan *sandbox.Plan) error {
	files, built, err := DefaultFiles()
	if err != nil {
		return err
	}
	use := func(image string) { plan.Sidecar.Image, plan.Agent.Image = image, image }
	switch lacks, err := lacksClaude(ctx, i.Engine, plan.Agent.Image, plan.ClaudePath()); {
	case err == nil && !lacks:
		return nil
	case err == nil:
		fmt.Fprintf(i.Progress, "sbx-devc: note: %s has no Claude Code, as the published image has none; taking one that is built here\n",
			plan.Agent.Image)
	case !errors.Is(err, engine.ErrNotFound):
		return err
	}
	if _, err := i.Engine.ImageInspect(ctx, built); err == nil {
		use(built)
		return nil
	} else if !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	fmt.Fprintln(i.Progress, "building the default image, which takes a minute or two, once")
	err = InFolder(files, func(folder string) error {
		_, err := imagebuild.BuildDockerfile(ctx, i.Engine, imagebuild.BuildOptions{Context: folder, Tag: built, Progress: i.Progress})
		return err
	})
	if err != nil {
		return diag.WithHint(fmt.Errorf("building the default image: %w", err), "name an image with %s", i.Option)
	}
	use(built)
	return nil
}

// DefaultFiles are the files that the default image is built from, and the name
// that it gets by their content.
func DefaultFiles() (files []templates.File, name string, err error) {
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

// InFolder writes the files of a dev container into a folder of their own for as
// long as use works, which gets the folder of the Dockerfile.
func InFolder(files []templates.File, use func(folder string) error) error {
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
func (i Images) needClaude(ctx context.Context, plan *sandbox.Plan) error {
	lacks, err := lacksClaude(ctx, i.Engine, plan.Agent.Image, plan.ClaudePath())
	if err != nil || !lacks {
		return err
	}
	err = fmt.Errorf("%w: the image %s has no Claude Code at %s", sandbox.ErrNoStart, plan.Agent.Image, plan.ClaudePath())
	return diag.WithHint(err,
		"leave %s out to have an image built here, build one with 'sbx-devc image build --load --tag NAME', or say with --claude-path where "+
			"claude is", i.Option)
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
