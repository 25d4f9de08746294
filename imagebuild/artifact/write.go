package artifact

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
)

const layoutVersion = `{"imageLayoutVersion":"1.0.0"}`

// refName names an entry of a layout's index.json (OCI image layout).
const refName = "org.opencontainers.image.ref.name"

// WriteLayout writes the artifact and its referrers as an OCI image layout into
// dir, which must be missing, empty or a layout. index.json is written last and
// at once, so an interrupted call leaves no half of an image that anybody sees.
func WriteLayout(ctx context.Context, dir string, a Artifact, referrers []Manifest, name string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("writing the layout: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "oci-layout")); err != nil && len(entries) > 0 {
		return diag.WithHint(fmt.Errorf("writing the layout: %s is neither empty nor an OCI layout", dir), "name a new folder")
	}
	blobs := filepath.Join(dir, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		return fmt.Errorf("writing the layout: %w", err)
	}
	for _, b := range layoutBlobs(a, referrers) {
		if err := writeBlob(ctx, filepath.Join(blobs, b.Digest.Hex), b); err != nil {
			return fmt.Errorf("writing the layout %s: %w", dir, err)
		}
	}
	index, err := layoutIndex(a, referrers, name)
	if err != nil {
		return err
	}
	for _, f := range []struct{ name, content string }{{"oci-layout", layoutVersion}, {"index.json", string(index)}} {
		if err := atomicfile.WriteBytes(filepath.Join(dir, f.name), 0o644, []byte(f.content)); err != nil {
			return fmt.Errorf("writing the layout: %w", err)
		}
	}
	return nil
}

func layoutBlobs(a Artifact, referrers []Manifest) []Blob {
	all := append(a.Manifests(), referrers...)
	blobs := Unique(all...)
	for _, m := range all {
		blobs = append(blobs, Bytes(m.MediaType, m.Raw, ""))
	}
	return blobs
}

func layoutIndex(a Artifact, referrers []Manifest, name string) ([]byte, error) {
	root := a.Index.Descriptor
	if name != "" {
		root.Annotations = map[string]string{refName: name}
	}
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{root}}
	for _, r := range referrers {
		index.Manifests = append(index.Manifests, r.Descriptor)
	}
	return json.Marshal(index)
}

// writeBlob writes a blob unless it is there; a blob that copyBlob refuses
// never gets its name.
func writeBlob(ctx context.Context, file string, b Blob) error {
	if info, err := os.Stat(file); err == nil && info.Size() == b.Size {
		return nil
	}
	return atomicfile.Write(file, 0o644, func(w io.Writer) error { return copyBlob(ctx, w, b) })
}

// copyBlob copies the content and reports any other content than the digest's.
func copyBlob(ctx context.Context, w io.Writer, b Blob) error {
	r, err := b.Open(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	h := sha256.New()
	// One byte more than promised is enough to know that it is too long.
	n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(r, b.Size+1))
	if err != nil {
		return fmt.Errorf("%s: %w", b.What, err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); n != b.Size || got != b.Digest.Hex {
		return fmt.Errorf("%s: content of %d bytes with sha256:%s, want %d bytes with %s", b.What, n, got, b.Size, b.Digest)
	}
	return nil
}

// WriteTar writes the artifact as one file that is an OCI archive and, for the
// images whose architecture is arch (""= all), what "docker load" reads. names
// are the full names (NAME:TAG) that an engine gives the image for arch. The
// bytes depend on the artifact alone.
func WriteTar(ctx context.Context, w io.Writer, a Artifact, arch string, names []string) error {
	tw := tar.NewWriter(w)
	add := func(name string, b Blob) error {
		h := &tar.Header{Name: name, Mode: 0o644, Size: b.Size, ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		return copyBlob(ctx, tw, b)
	}
	part := a
	if arch != "" {
		image, ok := a.For(arch)
		if !ok {
			return fmt.Errorf("no image for linux/%s", arch)
		}
		part.Images = []Manifest{image}
		var err error
		if part, err = Index(part.Images, nil); err != nil {
			return err
		}
	}
	type entry struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	var docker []entry
	for _, image := range part.Images {
		e := entry{Config: blobPath(image.ConfigID())}
		if arch != "" {
			e.RepoTags = names
		}
		for _, l := range image.Blobs[1:] {
			e.Layers = append(e.Layers, blobPath(l.Digest))
		}
		docker = append(docker, e)
	}
	dockerManifest, err := json.Marshal(docker)
	if err != nil {
		return err
	}
	name := ""
	if len(names) > 0 {
		name = names[0]
	}
	index, err := layoutIndex(part, nil, name)
	if err != nil {
		return err
	}
	for _, f := range []struct{ name, content string }{{"oci-layout", layoutVersion}, {"index.json", string(index)},
		{"manifest.json", string(dockerManifest)}} {
		if err := add(f.name, Bytes("", []byte(f.content), f.name)); err != nil {
			return err
		}
	}
	for _, b := range layoutBlobs(part, nil) {
		if err := add(blobPath(b.Digest), b); err != nil {
			return err
		}
	}
	return tw.Close()
}

func blobPath(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
