package images

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/imagebuild/npm"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/imagebuild/store"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/progress"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// Images brings the images of a run to an engine. All fields but Published are required.
type Images struct {
	Engine   *engine.Engine
	Getenv   func(string) string // where the credentials of registries are
	Progress *progress.Reporter
	Option   string // names another image, for people, such as "--image"
	Cache    string // the user's folder for what can be made again; see CacheDir
	Choice   Choice // of the agent's image, where the plan names none
	// Published is an image for the firewall's container, NAME@sha256:…; "" = it is built here.
	Published string
}

// CacheDir is the folder of sbx-devc in the user's cache folder.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", diag.WithHint(fmt.Errorf("finding the cache folder: %w", err), "set HOME, or XDG_CACHE_HOME to a folder")
	}
	return filepath.Join(dir, "sbx-devc"), nil
}

// Bring makes sure that the engine has what the containers of the plan are made
// of: the firewall's image, the agent's, and Claude Code for it. The plan then has the
// ids of the images, because a name can come to mean another image than the one that
// was looked at. Errors wrap sandbox.ErrNoStart.
func (i Images) Bring(ctx context.Context, plan *runplan.Plan) (err error) {
	defer func() {
		if err != nil && !errors.Is(err, sandbox.ErrNoStart) {
			err = fmt.Errorf("%w: %w", sandbox.ErrNoStart, err)
		}
	}()
	var image engine.Image
	if plan.Sidecar.Image == FirewallName() {
		plan.Sidecar.Image, err = i.bringFirewall(ctx)
	} else {
		_, image, err = i.bringNamed(ctx, plan.Sidecar.Image)
		plan.Sidecar.Image = image.ID
	}
	if err != nil {
		return err
	}
	volume, err := i.bringInit(ctx, plan.Sidecar.Image)
	if err != nil {
		return err
	}
	plan.MountInit(volume)
	if plan.Agent.Image == i.Choice.Name {
		plan.Notes = append(plan.Notes, i.Choice.Why)
		plan.Agent.Image, image, err = i.bringChoice(ctx)
	} else {
		plan.Agent.Image, image, err = i.bringNamed(ctx, plan.Agent.Image)
	}
	if err != nil {
		return err
	}
	if err := i.giveClaude(ctx, plan, image); err != nil {
		return err
	}
	plan.Agent.Image = image.ID
	return nil
}

// bringNamed pulls an image that the engine does not have. It returns what the
// engine calls it.
func (i Images) bringNamed(ctx context.Context, name string) (string, engine.Image, error) {
	image, err := i.Engine.ImageInspect(ctx, name)
	if !errors.Is(err, engine.ErrNotFound) {
		if err != nil { // such as a reference that is none
			err = diag.WithHint(err, "name an image with %s, such as NAME:TAG", i.Option)
		}
		return name, image, err
	}
	step := i.Progress.Begin("pulling " + name)
	pulled, err := imagebuild.Pull(ctx, i.Engine, i.registry(step), name, imagebuild.PullOptions{})
	step.End("pulled "+name, err)
	if err != nil {
		return "", image, diag.WithHint(fmt.Errorf("the engine does not have %s: %w", name, err),
			"check the name that %s has; a private registry takes 'docker login' before, and 'sbx-devc image build' makes an image from "+
				"the project's .devcontainer", i.Option)
	}
	image, err = i.Engine.ImageInspect(ctx, pulled.Ref)
	return pulled.Ref, image, err // an engine does not know what was loaded by its digest in a registry
}

// registry is how registries are reached with the credentials of the environment.
func (i Images) registry(log io.Writer) registry.Options {
	home, _ := os.UserHomeDir() // without one there is no configuration to read
	return registry.Real(registry.Credentials{Getenv: i.Getenv, Home: home}, func(text string) { fmt.Fprintln(log, text) })
}

func (i Images) npmURL() string { return cmp.Or(i.Getenv("NPM_CONFIG_REGISTRY"), npm.DefaultURL()) }

// downloads is the folder of downloads in the cache folder.
const downloads = "images"

func (i Images) store() (*store.Store, error) { return store.Open(filepath.Join(i.Cache, downloads)) }

// bringDefault takes the default image if the engine has it, as after 'sandbox
// build' or a pull, and otherwise one that is built here. The published one is never
// pulled unasked: who publishes is not known to a program that was built from source.
func (i Images) bringDefault(ctx context.Context) (string, engine.Image, error) {
	files := DefaultFiles()
	built := DefaultName(files)
	for _, name := range []string{release.Image(), built} {
		image, err := i.Engine.ImageInspect(ctx, name)
		if err == nil || !errors.Is(err, engine.ErrNotFound) {
			return name, image, err
		}
	}
	if _, err := i.build(ctx, "the default image", built, files); err != nil {
		return "", engine.Image{}, diag.OrHint(err, "name an image with %s", i.Option)
	}
	image, err := i.Engine.ImageInspect(ctx, built)
	return built, image, err
}

// build builds files with a Dockerfile as the image called what for people.
func (i Images) build(ctx context.Context, what, tag string, files []imagebuild.File) (id string, err error) {
	step := i.Progress.Begin("building " + what + ", once")
	err = imagebuild.InFolder(files, func(dir string) error {
		id, err = imagebuild.BuildDockerfile(ctx, i.Engine, imagebuild.BuildOptions{Context: dir, Tag: tag, Progress: step})
		return err
	})
	step.End("built "+what, err)
	if err != nil {
		return "", fmt.Errorf("building %s: %w", what, err)
	}
	return id, nil
}

// giveClaude makes sure that the agent's container has Claude Code: at the path that
// the user named, as the image has it where it is installed as our templates do, or
// else from the volume.
func (i Images) giveClaude(ctx context.Context, plan *runplan.Plan, image engine.Image) error {
	path, chosen := plan.ClaudePath()
	name := "image " + plan.Agent.Image
	if i.Choice.recipe != nil && plan.Agent.Image != i.Choice.Name { // it is used by its id
		name = "image of the project's dev container"
	}
	s, err := i.look(ctx, image, path)
	if err != nil {
		return err
	}
	if s.InTheWay != "" {
		return diag.WithHint(fmt.Errorf("the %s has something at %s, where a run mounts its own", name, s.InTheWay),
			"name another image with %s", i.Option)
	}
	if s.Links {
		plan.KeepAccounts()
		plan.Notes = append(plan.Notes, fmt.Sprintf("the agent's user has no name: in the %s the list of users is not a plain file",
			name))
	}
	if !s.Bash {
		plan.Notes = append(plan.Notes, fmt.Sprintf("the %s has neither bash nor zsh, and Claude's Bash tool needs one of them: "+
			"install bash in it, such as with 'apk add bash'",
			name))
	}
	if !s.Git && plan.Project != nil && len(plan.Project.Git.Private) > 0 {
		plan.Notes = append(plan.Notes, fmt.Sprintf("the %s has no git, and the agent cannot commit: install git in it, such as with "+
			"'apt-get install git'", name))
	}
	if !s.LFS && plan.Place.LFS {
		plan.Notes = append(plan.Notes, fmt.Sprintf("the %s has no git-lfs: the agent commits the whole content of LFS's files; "+
			"install git-lfs in it, or make pointers of them here afterwards: 'git add --renormalize .'", name))
	}
	switch {
	case chosen && s.Claude || s.Closed:
		return nil
	case chosen:
		return diag.WithHint(fmt.Errorf("the %s has no Claude Code at %s", name, path),
			"leave --claude-path out, and the run brings Claude Code along")
	case s.Libc == "":
		return diag.WithHint(fmt.Errorf("the %s has no C library, neither glibc nor musl, and Claude Code needs one", name),
			"name an image of a distribution with %s, such as debian:bookworm-slim, or alpine:3 with bash", i.Option)
	}
	volume, err := i.bringClaude(ctx, image.Arch, s.Libc, plan.Sidecar.Image)
	if err != nil {
		return err
	}
	plan.MountClaude(volume, pathOf(image.Env))
	return nil
}

// pathOf returns the value of PATH among an image's variables, "" = it has none.
func pathOf(env []string) (path string) {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	return path
}

// short is the beginning of content's digest, 64 bits in hex.
func short(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}
