package base

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/registry"
)

// blobs is how the manifests and blobs of an image are read.
type blobs struct {
	manifest func(context.Context, v1.Hash) ([]byte, error)
	blob     func(v1.Descriptor) func(context.Context) (io.ReadCloser, error)
	from     string // the repository, for mounts
}

// published are the blobs of a repository.
func published(c *registry.Client) blobs {
	return blobs{
		manifest: func(ctx context.Context, h v1.Hash) ([]byte, error) {
			raw, _, err := c.Manifest(ctx, h.String())
			return raw, err
		},
		blob: func(d v1.Descriptor) func(context.Context) (io.ReadCloser, error) {
			return func(ctx context.Context) (io.ReadCloser, error) { return c.Blob(ctx, d) }
		},
		from: c.Name(),
	}
}

// images describes those images of an index that are wanted, or the one of a manifest,
// exactly as they are. Their blobs are read when somebody opens them.
func (b blobs) images(ctx context.Context, raw []byte, wanted func(v1.Descriptor) bool) (
	root artifact.Manifest, all []artifact.Manifest, err error,
) {
	if root, err = artifact.Parse(raw, nil); err != nil {
		return root, nil, err
	}
	if !root.MediaType.IsIndex() {
		image := root
		err := b.describe(ctx, &image)
		return root, []artifact.Manifest{image}, err
	}
	var index v1.IndexManifest
	if err := json.Unmarshal(raw, &index); err != nil {
		return root, nil, fmt.Errorf("reading the index: %w", err)
	}
	for _, d := range index.Manifests {
		if !wanted(d) {
			continue
		}
		raw, err := b.manifest(ctx, d.Digest)
		if err != nil {
			return root, nil, err
		}
		image, err := artifact.Parse(raw, nil)
		if err == nil && image.Digest != d.Digest {
			err = fmt.Errorf("a manifest has %s, not %s", image.Digest, d.Digest)
		}
		image.Platform = d.Platform
		if err == nil {
			err = b.describe(ctx, &image)
		}
		if err != nil {
			return root, nil, err
		}
		all = append(all, image)
	}
	return root, all, nil
}

// describe fills in an image's blobs, and its platform where no index says it.
func (b blobs) describe(ctx context.Context, image *artifact.Manifest) error {
	var manifest v1.Manifest
	if err := json.Unmarshal(image.Raw, &manifest); err != nil {
		return fmt.Errorf("reading a manifest: %w", err)
	}
	for _, d := range append([]v1.Descriptor{manifest.Config}, manifest.Layers...) {
		image.Blobs = append(image.Blobs, artifact.Blob{Descriptor: d, From: b.from, What: "blob " + d.Digest.String(), Open: b.blob(d)})
	}
	if image.Platform != nil {
		return nil
	}
	file, err := ReadConfig(ctx, *image)
	image.Platform = &v1.Platform{OS: file.OS, Architecture: file.Architecture, Variant: file.Variant}
	return err
}

// maxConfig bounds an image's configuration.
const maxConfig = 8 << 20

// ReadConfig reads an image's configuration, checked against its digest.
func ReadConfig(ctx context.Context, image artifact.Manifest) (v1.ConfigFile, error) {
	var file v1.ConfigFile
	r, err := image.Blobs[0].Open(ctx)
	if err != nil {
		return file, err
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, maxConfig))
	if got := artifact.Bytes("", raw, "").Digest; err == nil && got != image.Blobs[0].Digest {
		err = fmt.Errorf("it has %s, not %s", got, image.Blobs[0].Digest)
	}
	if err == nil {
		err = json.Unmarshal(raw, &file)
	}
	if err != nil {
		return file, fmt.Errorf("reading an image's configuration: %w", err)
	}
	return file, nil
}

// fromIndex opens the images of an index, or the one of a manifest.
func fromIndex(ctx context.Context, b blobs, raw []byte, platforms []string) (Opened, error) {
	o := Opened{Images: map[string]Image{}}
	first := map[string]bool{}
	root, images, err := b.images(ctx, raw, func(d v1.Descriptor) bool {
		if d.Platform == nil || !d.MediaType.IsImage() {
			return false // attestations and other entries that are no image
		}
		key, ok := wanted(*d.Platform, platforms)
		twice := first[key]
		first[key] = true
		return ok && !twice
	})
	if root.MediaType.IsIndex() {
		o.Index = root.Digest
	}
	for _, m := range images {
		key := m.Platform.OS + "/" + m.Platform.Architecture
		if o.Images[key], err = open(ctx, m, key); err != nil {
			break
		}
	}
	return o, err
}

// open reads an image's configuration and gives its layers OCI media types.
func open(ctx context.Context, m artifact.Manifest, platform string) (Image, error) {
	file, err := ReadConfig(ctx, m)
	if err != nil {
		return Image{}, err
	}
	if says := file.OS + "/" + file.Architecture; says != platform {
		return Image{}, fmt.Errorf("the image listed for %s says it is for %s", platform, says)
	}
	image, layers := Image{Digest: m.Digest, Config: file}, m.Blobs[1:]
	if len(layers) != len(file.RootFS.DiffIDs) {
		return Image{}, fmt.Errorf("%d layers and %d digests of their content", len(layers), len(file.RootFS.DiffIDs))
	}
	for i, l := range layers {
		media, err := ociLayer(l.MediaType)
		if err != nil {
			return Image{}, err
		}
		l.Descriptor = v1.Descriptor{MediaType: media, Digest: l.Digest, Size: l.Size}
		l.What = layerName(platform, i)
		image.Layers = append(image.Layers, artifact.Layer{Blob: l, DiffID: file.RootFS.DiffIDs[i]})
	}
	return image, nil
}

func layerName(platform string, i int) string {
	return fmt.Sprintf("base layer %d for %s", i+1, platform)
}

// ociLayer returns the OCI name of a layer's media type. The bytes are the same.
func ociLayer(m types.MediaType) (types.MediaType, error) {
	switch m {
	case types.OCILayer, types.DockerLayer:
		return types.OCILayer, nil
	case types.OCILayerZStd:
		return types.OCILayerZStd, nil
	case types.OCIUncompressedLayer, types.DockerUncompressedLayer:
		return types.OCIUncompressedLayer, nil
	}
	return "", fmt.Errorf("a layer of the type %s, which cannot be published again", m)
}

// Layout returns the image in an OCI layout (DIR or DIR:NAME) exactly as it is
// there, so that publishing it keeps its digest. A single image becomes an
// index of one.
func Layout(source string) (artifact.Artifact, error) {
	b, raw, err := layoutRoot(source)
	var root artifact.Manifest
	var images []artifact.Manifest
	if err == nil {
		root, images, err = b.images(context.Background(), raw, func(v1.Descriptor) bool { return true })
	}
	if err != nil {
		return artifact.Artifact{}, fmt.Errorf("reading the layout %s: %w", source, err)
	}
	if !root.MediaType.IsIndex() {
		return artifact.Index(images, nil)
	}
	return artifact.Artifact{Index: root, Images: images}, nil
}

// Published returns the image that a tag or digest of a repository leads to exactly as it is,
// for one platform ("linux/amd64") or for all of them ("").
func Published(ctx context.Context, c *registry.Client, version, platform string) (artifact.Artifact, error) {
	raw, _, err := c.Manifest(ctx, version)
	if err != nil {
		return artifact.Artifact{}, err
	}
	root, images, err := published(c).images(ctx, raw, func(d v1.Descriptor) bool {
		return d.Platform != nil && d.Platform.OS != "unknown" &&
			(platform == "" || d.Platform.OS+"/"+d.Platform.Architecture == platform)
	})
	if err != nil {
		err = fmt.Errorf("reading the image %s: %w", c.Name(), err)
	}
	return artifact.Artifact{Index: root, Images: images}, err
}
