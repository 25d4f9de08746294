package imagebuild

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
)

// ErrTagMoved reports a push that would give a version's tag to another image.
var ErrTagMoved = errors.New("tag exists with another digest")

// PushOptions says what Push writes about the image. Empty fields write no label.
type PushOptions struct {
	Title    string // org.opencontainers.image.title
	Version  string // …version, without a leading v
	Revision string // …revision, the commit
	Source   string // …source, the URL of the repository
	Licenses string // …licenses, an SPDX expression
	ForceTag bool   // move a version's tag although it exists with another digest
}

// Pushed is what a registry holds after Push.
type Pushed struct {
	Digest string   `json:"digest"` // sha256:… of the manifest
	Tags   []string `json:"tags"`   // the full references that point to it
}

// versionTag matches the tags that never move: v1.2.3, 1.2.3 and what extends them.
var versionTag = regexp.MustCompile(`^v?\d+\.\d+\.\d+([-+._].*)?$`)

// Push copies an image of the engine to registries under all of refs, with the
// standard labels, and reads every tag back. A tag that is a full version is
// refused with ErrTagMoved when it exists with another digest, before anything
// is written; such tags are written first, floating ones (v1, latest) after
// them. Pushing the same image again writes nothing new.
func Push(ctx context.Context, e *engine.Engine, image string, refs []string, o PushOptions) (*Pushed, error) {
	var tags []name.Tag
	for _, ref := range refs {
		tag, err := name.NewTag(ref)
		if err != nil {
			return nil, diag.WithHint(fmt.Errorf("reading the reference %q: %w", ref, err), "write it as REGISTRY/NAME:TAG, for example ghcr.io/me/sandbox:v1.2.3")
		}
		tags = append(tags, tag)
	}
	saved, err := saveToFile(ctx, e, image)
	if err != nil {
		return nil, err
	}
	defer os.Remove(saved)
	img, err := tarball.ImageFromPath(saved, nil)
	if err == nil {
		img, err = label(img, o)
	}
	if err != nil {
		return nil, fmt.Errorf("reading image %s: %w", image, err)
	}
	digest, err := img.Digest()
	if err != nil {
		return nil, fmt.Errorf("packing image %s: %w", image, err)
	}
	if !o.ForceTag {
		if err := refuseMoves(ctx, tags, digest); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(tags, func(a, b name.Tag) int { return rank(a) - rank(b) })
	pushed := &Pushed{Digest: digest.String()}
	for _, tag := range tags {
		if err := remote.Write(tag, img, remoteOptions(ctx)...); err != nil {
			return pushed, registryError(err, "pushing", tag)
		}
		if err := verify(ctx, tag, img, digest); err != nil {
			return pushed, err
		}
		pushed.Tags = append(pushed.Tags, tag.String())
	}
	return pushed, nil
}

// IsVersion reports whether a tag is a full version, which never moves.
func IsVersion(tag string) bool { return versionTag.MatchString(tag) }

func rank(t name.Tag) int {
	if IsVersion(t.TagStr()) {
		return 0
	}
	return 1
}

// refuseMoves reports the first version's tag that exists with another digest.
func refuseMoves(ctx context.Context, tags []name.Tag, digest v1.Hash) error {
	for _, tag := range tags {
		if rank(tag) != 0 {
			continue
		}
		have, err := remote.Head(tag, remoteOptions(ctx)...)
		var status *transport.Error
		switch {
		case errors.As(err, &status) && status.StatusCode == http.StatusNotFound:
		case err != nil:
			return registryError(err, "looking up", tag)
		case have.Digest != digest:
			err := fmt.Errorf("%s: %w: %s", tag, ErrTagMoved, have.Digest)
			return diag.WithHint(err, "a version never changes: push under a new version, or move the tag on purpose with --force-tag")
		}
	}
	return nil
}

// verify reads back what a tag points to and compares manifest and labels.
func verify(ctx context.Context, tag name.Tag, want v1.Image, digest v1.Hash) error {
	got, err := remote.Image(tag, remoteOptions(ctx)...)
	if err != nil {
		return registryError(err, "reading back", tag)
	}
	gotDigest, err := got.Digest()
	if err != nil {
		return registryError(err, "reading back", tag)
	}
	if gotDigest != digest {
		return fmt.Errorf("reading back %s: the registry holds %s, not %s that was pushed", tag, gotDigest, digest)
	}
	gotConfig, err := got.ConfigName() // named in the manifest, whose digest is right
	if err != nil {
		return registryError(err, "reading back", tag)
	}
	if _, err := got.RawConfigFile(); err != nil { // fetched and checked against its digest
		return registryError(err, "reading back the configuration "+gotConfig.String()+" of", tag)
	}
	return nil
}

// label adds the standard labels to the image's configuration.
func label(img v1.Image, o PushOptions) (v1.Image, error) {
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config := *file.Config.DeepCopy()
	if config.Labels == nil {
		config.Labels = map[string]string{}
	}
	const prefix = "org.opencontainers.image."
	for key, value := range map[string]string{
		"title": o.Title, "version": o.Version, "revision": o.Revision, "source": o.Source, "licenses": o.Licenses,
		// The build's own time: pushing the same image twice gives one digest.
		"created": file.Created.UTC().Format("2006-01-02T15:04:05Z"),
	} {
		if value != "" {
			config.Labels[prefix+key] = value
		}
	}
	return mutate.Config(img, config)
}

// saveToFile spools an image of the engine: its layers are read several times,
// for their digests and for the upload.
func saveToFile(ctx context.Context, e *engine.Engine, image string) (file string, err error) {
	r, err := e.Save(ctx, image)
	if err != nil {
		return "", err
	}
	defer r.Close()
	f, err := os.CreateTemp("", "sbx-devc-image-*.tar")
	if err != nil {
		return "", fmt.Errorf("spooling image %s: %w", image, err)
	}
	_, err = io.Copy(f, r)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		os.Remove(f.Name())
		return "", fmt.Errorf("spooling image %s: %w", image, err)
	}
	return f.Name(), nil
}

// Pulled is an image that Pull put into the engine.
type Pulled struct {
	Digest string `json:"digest"` // sha256:… of the manifest for the engine's architecture
	ID     string `json:"id"`     // what the engine calls the image
	Ref    string `json:"ref"`    // the name under which the engine has it; the id for a reference by digest
}

// Pull copies an image from a registry into the engine, for the engine's
// architecture. Every byte is checked against the digest. A reference by digest
// is known to the engine by the image's id afterwards, one by tag by its name.
func Pull(ctx context.Context, e *engine.Engine, ref string) (*Pulled, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return nil, diag.WithHint(fmt.Errorf("reading the reference %q: %w", ref, err), "write it as REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:…")
	}
	info, err := e.Info(ctx)
	if err != nil {
		return nil, err
	}
	options := append(remoteOptions(ctx), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: info.Arch}))
	img, err := remote.Image(parsed, options...)
	if err != nil {
		return nil, registryError(err, "pulling", parsed)
	}
	digest, err := img.Digest()
	if err != nil {
		return nil, registryError(err, "pulling", parsed)
	}
	id, err := img.ConfigName()
	if err != nil {
		return nil, registryError(err, "pulling", parsed)
	}
	pulled := &Pulled{Digest: digest.String(), ID: id.String(), Ref: id.String()}
	if tag, ok := parsed.(name.Tag); ok {
		pulled.Ref = tag.String()
	}
	if err := load(ctx, e, parsed, img); err != nil {
		return nil, fmt.Errorf("pulling %s: %w", ref, err)
	}
	if _, err := e.ImageInspect(ctx, pulled.Ref); err != nil {
		return nil, fmt.Errorf("pulling %s: %w", ref, err)
	}
	return pulled, nil
}

func remoteOptions(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
}

// registryError adds to a registry's refusal what a person can do about it.
func registryError(err error, operation string, ref name.Reference) error {
	wrapped := fmt.Errorf("%s %s: %w", operation, ref, err)
	var status *transport.Error
	if !errors.As(err, &status) {
		return diag.WithHint(wrapped, "check the name and that %s can be reached from here", ref.Context().RegistryStr())
	}
	switch status.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return diag.WithHint(wrapped, "log in with 'docker login %s'; pushing to ghcr.io needs a token with packages: write", ref.Context().RegistryStr())
	case http.StatusNotFound:
		return diag.WithHint(wrapped, "check the name and the tag; a private image also looks missing until you 'docker login %s'", ref.Context().RegistryStr())
	case http.StatusTooManyRequests:
		return diag.WithHint(wrapped, "the registry asks to wait: try again in a few minutes, logged in if you are not")
	}
	return wrapped
}
