package imagebuild

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
)

// ErrPlatform reports an image that is not there for a platform.
var ErrPlatform = errors.New("no image for the platform")

// Load puts the artifact's image for the engine's architecture into the engine
// under names and returns its id. An engine that has it is not sent it again.
func Load(ctx context.Context, e *engine.Engine, a artifact.Artifact, names []string) (id string, err error) {
	info, err := e.Info(ctx)
	if err != nil {
		return "", err
	}
	image, ok := a.For(info.Arch)
	if !ok {
		return "", diag.WithHint(fmt.Errorf("%w: the engine runs linux/%s, the image is for %s", ErrPlatform, info.Arch, platforms(a)),
			"build it for this platform, too")
	}
	id = image.ConfigID().String()
	have, err := e.ImageInspect(ctx, id)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return "", err
	}
	if err != nil {
		r, w := io.Pipe()
		go func() { w.CloseWithError(artifact.WriteTar(ctx, w, a, info.Arch, names)) }()
		defer r.Close()
		if err := e.Load(ctx, r); err != nil {
			return "", err
		}
		for _, name := range append([]string{id}, names...) { // engines name images in two ways
			if have, err = e.ImageInspect(ctx, name); err == nil {
				return have.ID, nil
			}
		}
		return "", err
	}
	for _, name := range names {
		if named, err := e.ImageInspect(ctx, name); err == nil && named.ID == have.ID {
			continue
		}
		if err := e.Tag(ctx, have.ID, name); err != nil {
			return "", err
		}
	}
	return have.ID, nil
}

func platforms(a artifact.Artifact) string {
	var names []string
	for _, image := range a.Images {
		names = append(names, image.Platform.String())
	}
	return strings.Join(names, ", ")
}

// Relabel returns images that exist (of the engine, of a layout) as an artifact
// with the description added; their own labels stay.
func Relabel(o base.Opened, about About) (artifact.Artifact, error) {
	var images []artifact.Manifest
	for _, image := range o.Images {
		annotations := about.annotations()
		file := *image.Config.DeepCopy()
		// The build's own time: publishing the same image twice gives one digest.
		annotations[prefix+"created"] = file.Created.UTC().Format("2006-01-02T15:04:05Z")
		if file.Config.Labels == nil {
			file.Config.Labels = map[string]string{}
		}
		maps.Copy(file.Config.Labels, annotations)
		layers := image.Layers
		if texts := createdBy(file); len(texts) == len(layers) {
			for i := range layers {
				layers[i].CreatedBy = texts[i]
			}
		}
		m, err := artifact.Image(file, layers, annotations)
		if err != nil {
			return artifact.Artifact{}, err
		}
		images = append(images, m)
	}
	return artifact.Index(images, about.annotations())
}

// createdBy is what an image's history says of its layers.
func createdBy(file v1.ConfigFile) (texts []string) {
	for _, h := range file.History {
		if !h.EmptyLayer {
			texts = append(texts, h.CreatedBy)
		}
	}
	return texts
}

// PullOptions says what Pull insists on.
type PullOptions struct {
	// Digest is pulled, wherever the tag leads by now; zero = what the reference
	// leads to.
	Digest v1.Hash
	// Check looks at the image before any layer is fetched, and its error ends
	// the pull; nil = the digests are enough.
	Check func(ctx context.Context, c *registry.Client, digest v1.Hash, platform string) error
}

// Pulled is an image that Pull put into the engine.
type Pulled struct {
	Digest string `json:"digest"`        // sha256:… of what was pulled: of the index where there is one
	ID     string `json:"id"`            // what the engine calls the image
	Ref    string `json:"ref"`           // the name under which the engine has it; the id for a reference by digest alone
	Now    string `json:"now,omitempty"` // sha256:… that the tag leads to by now, when that is something else
}

// Pull copies an image from a registry into the engine, for the engine's
// architecture. Every byte is checked against the digest. A reference by digest
// alone is known to the engine by the image's id afterwards, one with a tag by
// its name.
func Pull(ctx context.Context, e *engine.Engine, o registry.Options, ref string, p PullOptions) (*Pulled, error) {
	info, err := e.Info(ctx)
	if err != nil {
		return nil, err
	}
	platform := "linux/" + info.Arch
	named, digest, byDigest := strings.Cut(ref, "@")
	repo, tag := base.SplitRef(named)
	want := p.Digest
	if byDigest {
		if want, err = v1.NewHash(digest); err != nil {
			return nil, diag.WithHint(fmt.Errorf("%s: %q is no digest", ref, digest), "write NAME@sha256: and 64 hexadecimal digits")
		}
	}
	version, names := tag, []string{repo + ":" + tag}
	if byDigest && named == repo {
		names = nil
	}
	if want != (v1.Hash{}) {
		version = want.String()
	}
	c, err := registry.Dial(ctx, repo, false, nil, o)
	if err != nil {
		return nil, err
	}
	a, err := fetch(ctx, c, version, platform)
	if err != nil {
		return nil, err
	}
	got := a.Index.Digest
	if p.Check != nil {
		if err := p.Check(ctx, c, got, platform); err != nil {
			return nil, fmt.Errorf("%s is not pulled: %w", ref, err)
		}
	}
	pulled := &Pulled{Digest: got.String()}
	if pulled.ID, err = Load(ctx, e, a, names); err != nil {
		return nil, fmt.Errorf("pulling %s: %w", ref, err)
	}
	pulled.Ref = pulled.ID
	if len(names) == 0 {
		return pulled, nil
	}
	pulled.Ref = names[0]
	if version != tag {
		// News, and no part of the pull: a tag may be gone.
		if now, err := c.Head(ctx, tag); err == nil && now != got {
			pulled.Now = now.String()
		}
	}
	return pulled, nil
}

// fetch is base.Published, which errs where the image is not there for the platform.
func fetch(ctx context.Context, c *registry.Client, version, platform string) (artifact.Artifact, error) {
	a, err := base.Published(ctx, c, version, platform)
	if err != nil || platform == "" {
		return a, err
	}
	if _, ok := a.For(strings.TrimPrefix(platform, "linux/")); !ok {
		return a, diag.WithHint(fmt.Errorf("%s: %w %s", c.Name(), ErrPlatform, platform),
			"see what it has with 'sbx-devc image inspect %s'", c.Name())
	}
	return a, nil
}
