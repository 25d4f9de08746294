package feature

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"

	"github.com/klauspost/compress/gzip"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/imagebuild/registry"
)

// Bounds of a Feature's archive.
const (
	maxFiles = 2000
	maxBytes = 64 << 20 // unpacked
)

// Fetch returns the files of a Feature in a registry. ref has a tag or a digest; the
// content is checked against the manifest's digests.
func Fetch(ctx context.Context, o registry.Options, ref string) ([]imagebuild.File, error) {
	c, manifest, err := imagebuild.FeatureManifest(ctx, o, ref)
	if err != nil {
		return nil, err
	}
	if len(manifest.Layers) != 1 {
		return nil, fmt.Errorf("%s is no Feature: it has %d parts instead of one archive", ref, len(manifest.Layers))
	}
	blob, err := c.Blob(ctx, manifest.Layers[0])
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	files, err := Unpack(blob)
	if err != nil {
		return nil, fmt.Errorf("unpacking the Feature %s: %w", ref, err)
	}
	return files, nil
}

// Unpack reads a Feature's archive to its end, a tar that may be compressed by gzip.
func Unpack(archive io.Reader) (files []imagebuild.File, err error) {
	packed := bufio.NewReader(archive)
	var content io.Reader = packed
	if magic, _ := packed.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if content, err = gzip.NewReader(packed); err != nil {
			return nil, err
		}
	}
	left := int64(maxBytes)
	for tr := tar.NewReader(content); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		name := path.Clean(h.Name)
		switch {
		case h.Typeflag == tar.TypeDir:
			continue
		case h.Typeflag != tar.TypeReg:
			return nil, fmt.Errorf("%q is no file", h.Name)
		case !filepath.IsLocal(filepath.FromSlash(name)):
			return nil, fmt.Errorf("%q leads out of the archive", h.Name)
		case len(files) == maxFiles:
			return nil, fmt.Errorf("it has more than %d files", maxFiles)
		}
		data, err := io.ReadAll(io.LimitReader(tr, left+1))
		if err != nil {
			return nil, err
		}
		if left -= int64(len(data)); left < 0 {
			return nil, fmt.Errorf("it has more than %d MiB", maxBytes>>20)
		}
		files = append(files, imagebuild.File{Name: name, Executable: h.Mode&0o111 != 0, Data: data})
	}
	_, err = io.Copy(io.Discard, packed) // the digest is known at the end
	return files, err
}
