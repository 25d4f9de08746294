// Package base reads the image that a sandbox is laid on, wherever it is, and
// finds out what the sandbox needs to know of it.
//
//	source ─► Open ─► Image (one platform) ─► Scan ─► Facts ─► Sandbox ─► a layer
//
// A source is written as KIND:WHERE or as the name of an image in a registry; see
// Kind and KindOf.
package base

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/imagebuild/store"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filekind"
)

// Image is a base for one platform. Its layers have OCI media types.
type Image struct {
	Digest v1.Hash // of the manifest; of an archive or engine image its id; of a rootfs its file
	Config v1.ConfigFile
	Layers []artifact.Layer // lowest first
}

// Sources are the effects that Open reads with.
type Sources struct {
	Store    *store.Store
	Registry registry.Options
	// Save reads an image of the container engine in docker-save's form; nil =
	// no engine:NAME can be read.
	Save func(ctx context.Context, name string) (io.ReadCloser, error)
}

// Opened is a source. Index is zero unless the source is an index.
type Opened struct {
	Index  v1.Hash
	Images map[string]Image // by platform, "linux/amd64"
}

// Open reads what a source holds for the given platforms ("linux/amd64"); with
// none given, for linux/amd64 and linux/arm64 as far as it has them. An archive,
// an engine image or a rootfs is for one platform. A platform that was asked
// for and is not there is an error.
func Open(ctx context.Context, s Sources, source string, platforms []string) (Opened, error) {
	var o Opened
	var err error
	switch kind, rest := KindOf(source); kind {
	case KindLayout:
		o, err = openLayout(rest, platforms)
	case KindArchive:
		o, err = openArchive(s, rest)
	case KindEngine:
		o, err = openEngine(ctx, s, rest)
	case KindRootfs:
		o, err = openRootfs(s, rest, platforms)
	case KindRegistry:
		o, err = openRegistry(ctx, s, source, platforms)
	}
	if err != nil {
		return Opened{}, fmt.Errorf("reading the base %s: %w", source, err)
	}
	for _, p := range platforms {
		if _, ok := o.Images[p]; !ok {
			return Opened{}, diag.WithHint(fmt.Errorf("reading the base %s: it has no image for %s", source, p),
				"leave the platform out with --platform, or name another base for it: --base %s=…", p)
		}
	}
	if len(o.Images) == 0 {
		return Opened{}, fmt.Errorf("reading the base %s: it has no image for linux/amd64 or linux/arm64", source)
	}
	return o, nil
}

// wanted reports whether an image for p is asked for.
func wanted(p v1.Platform, platforms []string) (string, bool) {
	key := p.OS + "/" + p.Architecture
	if len(platforms) == 0 {
		return key, key == "linux/amd64" || key == "linux/arm64"
	}
	for _, want := range platforms {
		if want == key {
			return key, true
		}
	}
	return key, false
}

// blobs is how the images of an index or manifest are read.
type blobs struct {
	manifest func(v1.Hash) ([]byte, error)
	blob     func(v1.Descriptor) func(context.Context) (io.ReadCloser, error)
	from     string // the repository, for mounts
}

// fromIndex reads the images of an index, or the one of a manifest.
func fromIndex(ctx context.Context, b blobs, raw []byte, platforms []string) (Opened, error) {
	o := Opened{Images: map[string]Image{}}
	m, err := artifact.Parse(raw, nil)
	if err != nil {
		return o, err
	}
	if !m.MediaType.IsIndex() {
		key, image, err := fromManifest(ctx, b, m, "")
		if err == nil {
			o.Images[key] = image
		}
		return o, err
	}
	o.Index = m.Digest
	var index v1.IndexManifest
	if err := json.Unmarshal(raw, &index); err != nil {
		return o, err
	}
	for _, d := range index.Manifests {
		if d.Platform == nil || !d.MediaType.IsImage() {
			continue // attestations and other entries that are no image
		}
		key, ok := wanted(*d.Platform, platforms)
		if _, twice := o.Images[key]; !ok || twice {
			continue
		}
		raw, err := b.manifest(d.Digest)
		if err != nil {
			return o, err
		}
		if m, err = artifact.Parse(raw, nil); err != nil {
			return o, err
		}
		if m.Digest != d.Digest {
			return o, fmt.Errorf("the manifest for %s has %s, not %s", key, m.Digest, d.Digest)
		}
		if _, o.Images[key], err = fromManifest(ctx, b, m, key); err != nil {
			return o, err
		}
	}
	return o, nil
}

// maxConfig bounds an image's configuration.
const maxConfig = 8 << 20

func fromManifest(ctx context.Context, b blobs, m artifact.Manifest, platform string) (string, Image, error) {
	var manifest v1.Manifest
	if err := json.Unmarshal(m.Raw, &manifest); err != nil {
		return "", Image{}, err
	}
	r, err := b.blob(manifest.Config)(ctx)
	if err != nil {
		return "", Image{}, err
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, maxConfig))
	if err != nil {
		return "", Image{}, err
	}
	if c := artifact.Bytes("", raw, ""); c.Digest != manifest.Config.Digest {
		return "", Image{}, fmt.Errorf("the configuration has %s, not %s", c.Digest, manifest.Config.Digest)
	}
	image := Image{Digest: m.Digest}
	if err := json.Unmarshal(raw, &image.Config); err != nil {
		return "", Image{}, fmt.Errorf("reading the configuration: %w", err)
	}
	key := image.Config.OS + "/" + image.Config.Architecture
	if platform != "" && key != platform {
		return "", Image{}, fmt.Errorf("the image listed for %s says it is for %s", platform, key)
	}
	if len(manifest.Layers) != len(image.Config.RootFS.DiffIDs) {
		return "", Image{}, fmt.Errorf("%d layers and %d digests of their content", len(manifest.Layers), len(image.Config.RootFS.DiffIDs))
	}
	for i, d := range manifest.Layers {
		media, err := ociLayer(d.MediaType)
		if err != nil {
			return "", Image{}, err
		}
		image.Layers = append(image.Layers, artifact.Layer{
			Blob: artifact.Blob{
				Descriptor: v1.Descriptor{MediaType: media, Digest: d.Digest, Size: d.Size},
				Open:       b.blob(d), From: b.from, What: layerName(key, i),
			},
			DiffID: image.Config.RootFS.DiffIDs[i],
		})
	}
	return key, image, nil
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

func openRegistry(ctx context.Context, s Sources, source string, platforms []string) (Opened, error) {
	repo, ref := SplitRef(source)
	c, err := registry.Dial(ctx, repo, false, nil, s.Registry)
	if err != nil {
		return Opened{}, err
	}
	raw, _, err := c.Manifest(ctx, ref)
	if err != nil {
		return Opened{}, err
	}
	return fromIndex(ctx, blobs{
		manifest: func(h v1.Hash) ([]byte, error) { raw, _, err := c.Manifest(ctx, h.String()); return raw, err },
		blob: func(d v1.Descriptor) func(context.Context) (io.ReadCloser, error) {
			return func(ctx context.Context) (io.ReadCloser, error) { return c.Blob(ctx, d) }
		},
		from: c.Name(),
	}, raw, platforms)
}

// SplitRef splits REGISTRY/NAME[:TAG][@DIGEST] into the repository and what to
// ask for: the digest if there is one, otherwise the tag, "latest" by default.
func SplitRef(source string) (repo, ref string) {
	repo, digest, hasDigest := strings.Cut(source, "@")
	ref = "latest"
	if i := strings.LastIndex(repo, ":"); i > strings.LastIndex(repo, "/") {
		repo, ref = repo[:i], repo[i+1:]
	}
	if hasDigest {
		ref = digest
	}
	return repo, ref
}

func openLayout(source string, platforms []string) (Opened, error) {
	b, raw, err := layoutRoot(source)
	if err != nil {
		return Opened{}, err
	}
	return fromIndex(context.Background(), b, raw, platforms)
}

// maxManifest bounds the files of a layout that are read whole, in bytes.
const maxManifest = 4 << 20

// layoutRoot finds the one image of a layout, or the one of a name.
func layoutRoot(source string) (b blobs, raw []byte, err error) {
	dir, refName := source, ""
	if _, err := os.Stat(dir); err != nil {
		if i := strings.LastIndex(source, ":"); i > 1 { // not the colon of a drive
			dir, refName = source[:i], source[i+1:]
		}
	}
	var index v1.IndexManifest
	data, err := filekind.Read(filepath.Join(dir, "index.json"), maxManifest)
	if err == nil {
		err = json.Unmarshal(data, &index)
	}
	if info, statErr := os.Stat(dir); statErr == nil && !info.IsDir() {
		return b, nil, diag.WithHint(fmt.Errorf("%s is no OCI image layout: it is a file", dir),
			"a layout is a folder with index.json; for what 'docker save' writes use docker-archive:%s", dir)
	}
	if err != nil {
		return b, nil, fmt.Errorf("%s is no OCI image layout: %w", dir, err)
	}
	file := func(h v1.Hash) string { return filepath.Join(dir, "blobs", h.Algorithm, h.Hex) }
	var roots []v1.Descriptor
	for _, d := range index.Manifests {
		// An image's artifact type is that of its configuration, where somebody
		// writes it; an SBOM next to it has another.
		isRoot := d.MediaType.IsIndex() || d.MediaType.IsImage() && (d.ArtifactType == "" || types.MediaType(d.ArtifactType).IsConfig())
		if isRoot && (refName == "" || d.Annotations["org.opencontainers.image.ref.name"] == refName) {
			roots = append(roots, d)
		}
	}
	b = blobs{
		manifest: func(h v1.Hash) ([]byte, error) { return filekind.Read(file(h), maxManifest) },
		blob: func(d v1.Descriptor) func(context.Context) (io.ReadCloser, error) {
			return func(context.Context) (io.ReadCloser, error) { return filekind.Open(file(d.Digest)) }
		},
	}
	switch {
	case len(roots) == 0:
		return b, nil, errors.New("the layout holds no image of that name")
	case len(roots) > 1:
		return b, nil, diag.WithHint(fmt.Errorf("the layout holds %d images", len(roots)), "name one: oci:%s:NAME", dir)
	}
	raw, err = filekind.Read(file(roots[0].Digest), maxManifest)
	if err != nil {
		return b, nil, err
	}
	if m, err := artifact.Parse(raw, nil); err != nil || m.Digest != roots[0].Digest {
		return b, nil, fmt.Errorf("the layout's image is not what its index says: %w",
			errors.Join(err, fmt.Errorf("%s, not %s", m.Digest, roots[0].Digest)))
	}
	return b, raw, nil
}

// Layout returns the image in an OCI layout (DIR or DIR:NAME) exactly as it is
// there, so that publishing it keeps its digest. A single image becomes an
// index of one.
func Layout(source string) (artifact.Artifact, error) {
	b, raw, err := layoutRoot(source)
	if err != nil {
		return artifact.Artifact{}, fmt.Errorf("reading the layout %s: %w", source, err)
	}
	root, err := artifact.Parse(raw, nil)
	if err != nil {
		return artifact.Artifact{}, fmt.Errorf("reading the layout %s: %w", source, err)
	}
	var index v1.IndexManifest
	if root.MediaType.IsIndex() {
		if err := json.Unmarshal(raw, &index); err != nil {
			return artifact.Artifact{}, fmt.Errorf("reading the layout %s: %w", source, err)
		}
	} else {
		index.Manifests = []v1.Descriptor{root.Descriptor}
	}
	var images []artifact.Manifest
	for _, d := range index.Manifests {
		raw, err := b.manifest(d.Digest)
		if err != nil {
			return artifact.Artifact{}, fmt.Errorf("reading the layout %s: %w", source, err)
		}
		m, err := artifact.Parse(raw, nil)
		var manifest v1.Manifest
		if err == nil {
			err = json.Unmarshal(raw, &manifest)
		}
		if err == nil && m.Digest != d.Digest {
			err = fmt.Errorf("a manifest with %s, not %s", m.Digest, d.Digest)
		}
		if err != nil {
			return artifact.Artifact{}, fmt.Errorf("reading the layout %s: %w", source, err)
		}
		m.Platform = d.Platform
		for i, blob := range append([]v1.Descriptor{manifest.Config}, manifest.Layers...) {
			m.Blobs = append(m.Blobs, artifact.Blob{Descriptor: blob, Open: b.blob(blob), What: fmt.Sprintf("blob %d of %s", i, m.Digest)})
		}
		if m.Platform == nil {
			_, image, err := fromManifest(context.Background(), b, m, "")
			if err != nil {
				return artifact.Artifact{}, fmt.Errorf("reading the layout %s: %w", source, err)
			}
			m.Platform = &v1.Platform{OS: image.Config.OS, Architecture: image.Config.Architecture, Variant: image.Config.Variant}
		}
		images = append(images, m)
	}
	if !root.MediaType.IsIndex() {
		return artifact.Index(images, nil)
	}
	return artifact.Artifact{Index: root, Images: images}, nil
}
