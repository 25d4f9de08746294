package imagebuild

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/registry"
)

// RemoteConfig returns what the configuration of an image in a registry says,
// without its layers. For an image for several platforms it is the one for
// linux/amd64.
func RemoteConfig(ctx context.Context, o registry.Options, ref string) (v1.Config, error) {
	repo, version := base.SplitRef(ref)
	c, err := registry.Dial(ctx, repo, false, nil, o)
	if err != nil {
		return v1.Config{}, err
	}
	a, err := base.Published(ctx, c, version, "")
	if err != nil {
		return v1.Config{}, err
	}
	image, ok := a.For("amd64")
	if !ok && len(a.Images) > 0 {
		image, ok = a.Images[0], true
	}
	if !ok {
		return v1.Config{}, fmt.Errorf("%s: %w", ref, ErrPlatform)
	}
	file, err := base.ReadConfig(ctx, image)
	return file.Config, err
}

// FeatureManifest returns the manifest of a Feature in a registry, and the connection to it.
// ref has a tag or a digest.
func FeatureManifest(ctx context.Context, o registry.Options, ref string) (*registry.Client, v1.Manifest, error) {
	var manifest v1.Manifest
	repo, version := base.SplitRef(ref)
	c, err := registry.Dial(ctx, repo, false, nil, o)
	if err != nil {
		return nil, manifest, err
	}
	raw, _, err := c.Manifest(ctx, version)
	if err != nil {
		return nil, manifest, err
	}
	m, err := artifact.Parse(raw, nil)
	if err == nil && m.MediaType.IsImage() {
		err = json.Unmarshal(raw, &manifest)
	}
	if err != nil {
		return nil, manifest, fmt.Errorf("reading the manifest of %s: %w", ref, err)
	}
	return c, manifest, nil
}

// SingleFile returns the only file of an artifact in a registry, as oras push writes one. ref
// has a digest, and the file is the one that it stands for. More than limit bytes, and more
// files than one, are errors.
func SingleFile(ctx context.Context, o registry.Options, ref string, limit int64) ([]byte, error) {
	c, manifest, err := FeatureManifest(ctx, o, ref)
	if err != nil {
		return nil, err
	}
	if n := len(manifest.Layers); n != 1 {
		return nil, fmt.Errorf("it holds %d files, not one", n)
	}
	if size := manifest.Layers[0].Size; size > limit {
		return nil, fmt.Errorf("its file has %d bytes, more than %d", size, limit)
	}
	blob, err := c.Blob(ctx, manifest.Layers[0])
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	return io.ReadAll(blob)
}

// FeatureMetadata returns the devcontainer-feature.json of a Feature in a
// registry, which its manifest repeats as an annotation. Old Features have
// none; that is an error.
func FeatureMetadata(ctx context.Context, o registry.Options, ref string) ([]byte, error) {
	_, manifest, err := FeatureManifest(ctx, o, ref)
	if err != nil {
		return nil, err
	}
	text := manifest.Annotations["dev.containers.metadata"]
	if text == "" {
		return nil, fmt.Errorf("the manifest of %s does not repeat the Feature's metadata", ref)
	}
	return []byte(text), nil
}
