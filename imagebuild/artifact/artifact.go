// Package artifact is what gets published, as plain data: an index, its images
// and their blobs. A blob says how to read it and holds no content, so an
// artifact of gigabytes is a few kilobytes of memory.
//
//	blobs ─► Image ─► Index ─► Artifact ─┬─► WriteLayout   a folder (OCI image layout)
//	                                     ├─► WriteTar      one file, for engines too
//	                                     └─► registry.Push
package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Blob is one blob: a layer or a configuration.
type Blob struct {
	v1.Descriptor
	// Open reads the content from its start. It may be called more than once.
	Open func(context.Context) (io.ReadCloser, error)
	// From names a repository (REGISTRY/NAME) that holds the blob already, so
	// that a push to the same registry need not send it. "" = none.
	From string
	// What is its description for people, for example "Claude Code 2.1.329".
	What string
}

// Manifest is an image, an index or a referrer, as it is stored.
type Manifest struct {
	v1.Descriptor        // for an image with its platform
	Raw           []byte // the bytes that Digest is of
	Blobs         []Blob // configuration first, then layers; none for an index of images
}

// Artifact is an index with its images, or a manifest with blobs of its own and
// no images, as of a dev container Template.
type Artifact struct {
	Index  Manifest
	Images []Manifest // ordered as in the index
}

// Layer is a blob with the digest of its uncompressed content.
type Layer struct {
	Blob
	DiffID    v1.Hash
	CreatedBy string // for the image's history
}

// Bytes returns a blob that is held in memory: configurations and documents.
func Bytes(mediaType types.MediaType, content []byte, what string) Blob {
	digest, size, _ := v1.SHA256(bytes.NewReader(content)) // reading memory cannot fail
	return Blob{
		Descriptor: v1.Descriptor{MediaType: mediaType, Digest: digest, Size: size},
		Open:       func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		What:       what,
	}
}

// Image returns the image of layers, lowest first, as an OCI manifest with OCI
// media types. The file's RootFS and History are filled in here.
func Image(file v1.ConfigFile, layers []Layer, annotations map[string]string) (Manifest, error) {
	file.RootFS = v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{}}
	file.History = nil
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Layers: []v1.Descriptor{}, Annotations: annotations}
	var blobs []Blob
	for _, l := range layers {
		file.RootFS.DiffIDs = append(file.RootFS.DiffIDs, l.DiffID)
		file.History = append(file.History, v1.History{Created: file.Created, CreatedBy: l.CreatedBy})
		m.Layers = append(m.Layers, v1.Descriptor{MediaType: l.MediaType, Digest: l.Digest, Size: l.Size})
		blobs = append(blobs, l.Blob)
	}
	raw, err := json.Marshal(file)
	if err != nil {
		return Manifest{}, fmt.Errorf("writing the image's configuration: %w", err)
	}
	platform := &v1.Platform{OS: file.OS, Architecture: file.Architecture, Variant: file.Variant}
	config := Bytes(types.OCIConfigJSON, raw, "configuration of "+platform.String())
	m.Config = config.Descriptor
	out, err := New(m, append([]Blob{config}, blobs...))
	out.Platform = platform
	return out, err
}

// Index returns the artifact of images, ordered by platform.
func Index(images []Manifest, annotations map[string]string) (Artifact, error) {
	images = slices.Clone(images)
	slices.SortFunc(images, func(a, b Manifest) int { return strings.Compare(a.Platform.String(), b.Platform.String()) })
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{}, Annotations: annotations}
	for i, image := range images {
		if i > 0 && image.Platform.Equals(*images[i-1].Platform) {
			return Artifact{}, fmt.Errorf("two images for %s", image.Platform)
		}
		index.Manifests = append(index.Manifests, image.Descriptor)
	}
	m, err := New(index, nil)
	return Artifact{Index: m, Images: images}, err
}

// New returns the manifest m (a v1.Manifest or v1.IndexManifest) in its stored form.
func New(m any, blobs []Blob) (Manifest, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return Manifest{}, fmt.Errorf("writing a manifest: %w", err)
	}
	return Parse(raw, blobs)
}

// Parse returns the manifest that raw is.
func Parse(raw []byte, blobs []Blob) (Manifest, error) {
	var head struct {
		MediaType    types.MediaType   `json:"mediaType"`
		ArtifactType string            `json:"artifactType"`
		Manifests    []json.RawMessage `json:"manifests"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return Manifest{}, fmt.Errorf("reading a manifest: %w", err)
	}
	if head.MediaType == "" { // optional in OCI
		head.MediaType = types.OCIManifestSchema1
		if head.Manifests != nil {
			head.MediaType = types.OCIImageIndex
		}
	}
	b := Bytes(head.MediaType, raw, "")
	b.ArtifactType = head.ArtifactType
	return Manifest{Descriptor: b.Descriptor, Raw: raw, Blobs: blobs}, nil
}

// Manifests returns the index and the images.
func (a Artifact) Manifests() []Manifest { return append([]Manifest{a.Index}, a.Images...) }

// Blobs returns the blobs of all manifests, each digest once.
func (a Artifact) Blobs() []Blob { return Unique(a.Manifests()...) }

// Sources returns the repositories that have blobs of it already, each once.
func (a Artifact) Sources() (repositories []string) {
	for _, b := range a.Blobs() {
		if b.From != "" && !slices.Contains(repositories, b.From) {
			repositories = append(repositories, b.From)
		}
	}
	return repositories
}

// Unique returns the blobs of manifests, each digest once, in order.
func Unique(manifests ...Manifest) []Blob {
	var blobs []Blob
	seen := map[v1.Hash]bool{}
	for _, m := range manifests {
		for _, b := range m.Blobs {
			if !seen[b.Digest] {
				seen[b.Digest] = true
				blobs = append(blobs, b)
			}
		}
	}
	return blobs
}

// For returns the image for linux/arch, or false.
func (a Artifact) For(arch string) (Manifest, bool) {
	for _, image := range a.Images {
		if image.Platform.OS == "linux" && image.Platform.Architecture == arch {
			return image, true
		}
	}
	return Manifest{}, false
}

// ConfigID returns the digest of the image's configuration, which engines
// without the containerd store call the image's id.
func (m Manifest) ConfigID() v1.Hash { return m.Blobs[0].Digest }
