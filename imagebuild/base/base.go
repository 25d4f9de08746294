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
	return fromIndex(ctx, published(c), raw, platforms)
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
		manifest: func(_ context.Context, h v1.Hash) ([]byte, error) { return filekind.Read(file(h), maxManifest) },
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
