package images

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/effective"
	"github.com/org/claude-sandbox/features"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/imagebuild/feature"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/session/recipe"
)

// installFeatures builds an image with the Features of the dev container on base.
func (i Images) installFeatures(ctx context.Context, c Choice, base engine.Image) (id string, err error) {
	step := i.Progress.Begin("installing the Features of the project's dev container, " + strings.Join(c.recipe.Features, ", "))
	defer func() {
		step.End("installed the Features of the project's dev container", err)
		if err != nil {
			err = fmt.Errorf("installing the Features of the project's dev container: %w", err)
		}
	}()
	list, users, err := resolveFeatures(ctx, i.registry(step), c.recipe, base)
	if err != nil {
		return "", err
	}
	// A builder takes names. This one is of this build alone.
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	name := "sbx-devc-base:" + hex.EncodeToString(random[:])
	if err := i.Engine.Tag(ctx, base.ID, name); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, i.Engine.ImageRemove(context.WithoutCancel(ctx), name)) }()
	err = feature.In(name, users, list, func(folder string) error {
		id, err = imagebuild.BuildDockerfile(ctx, i.Engine, imagebuild.BuildOptions{Context: folder, Tag: c.Name, Progress: step})
		return err
	})
	return id, err
}

// resolveFeatures fetches the Features of a dev container, puts them into the order of
// their installation and leaves out what a run brings along.
func resolveFeatures(ctx context.Context, registries registry.Options, r *recipe.Recipe, base engine.Image) (
	list []feature.Feature, users feature.Users, err error,
) {
	p, err := r.Project()
	if err != nil {
		return nil, users, err
	}
	fetched := map[string][]imagebuild.File{}
	var failed error
	result, err := effective.Compute(p, effective.Options{
		Image: func(string, bool) (effective.Image, error) {
			return effective.Image{Labels: base.Labels, Entrypoint: base.Entrypoint, Cmd: base.Cmd}, nil
		},
		Feature: func(id string) ([]byte, error) {
			if recipe.LeavesOutFeature(id) {
				return []byte("{}"), nil
			}
			files, err := feature.Fetch(ctx, registries, pinned(p, id))
			if err == nil && metadataOf(files) == nil {
				err = fmt.Errorf("there is no %s in it", devcontainer.FeatureName)
			}
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("the Feature %s: %w", id, err))
				return nil, err
			}
			fetched[id] = files
			return metadataOf(files), nil
		},
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, users, err
	}
	if unknown := slices.DeleteFunc(result.Unknown, func(s string) bool { return !strings.Contains(s, "Feature") }); len(unknown) > 0 {
		return nil, users, errors.New(strings.Join(unknown, "; "))
	}
	for _, f := range result.Features {
		files := fetched[f.ID]
		if f.Folder != "" {
			files = r.FeatureFiles(f.Folder)
		}
		if recipe.LeavesOutFeature(f.ID) || len(files) == 0 || features.IsFirewall(metadataOf(files)) || features.IsClaude(metadataOf(files)) {
			continue
		}
		list = append(list, feature.Feature{Name: f.ID, Options: variables(f.Options), Env: variables(f.Env), Files: files})
	}
	container, _ := result.At("/containerUser").(string)
	remote, _ := result.At("/remoteUser").(string)
	return list, feature.Users{
		Container: firstUser(container, base.User), Remote: firstUser(remote, container, base.User), Image: base.User,
	}, nil
}

// firstUser returns the first user that is named, without a group.
func firstUser(names ...string) string {
	for _, name := range append(names, "root") {
		if user, _, _ := strings.Cut(name, ":"); user != "" {
			return user
		}
	}
	return ""
}

func variables(from []effective.Variable) (to []feature.Variable) {
	for _, v := range from {
		to = append(to, feature.Variable(v))
	}
	return to
}

// pinned returns the reference by digest that the project's lock has for a Feature, or
// else the Feature's own name.
func pinned(p *devcontainer.Project, id string) string {
	if p.Lock == nil {
		return id
	}
	locked := p.Lock.Root.Member("features").Member(id)
	resolved, ok := locked.Member("resolved").Str()
	if !ok || !strings.Contains(resolved, "@sha256:") {
		return id
	}
	return resolved
}

func metadataOf(files []imagebuild.File) []byte {
	at := slices.IndexFunc(files, func(f imagebuild.File) bool { return f.Name == devcontainer.FeatureName })
	if at < 0 {
		return nil
	}
	return files[at].Data
}
