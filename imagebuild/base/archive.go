package base

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/klauspost/compress/gzip"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/layer"
	"github.com/org/claude-sandbox/imagebuild/store"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filekind"
)

// openArchive reads a docker-save file. Its layers are compressed into the
// store, each once: a layer that the store knows is not even read.
func openArchive(s Sources, file string) (Opened, error) {
	img, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		return Opened{}, noArchive(file, err)
	}
	return fromArchive(s.Store, img)
}

// noArchive says of a file that is not docker-save's what it may be instead.
func noArchive(file string, err error) error {
	failed := fmt.Errorf("reading the archive: %w", err)
	if errors.As(err, new(*fs.PathError)) { // it could not be read at all
		return failed
	}
	if zipped, err := isGzip(file); err == nil && zipped {
		return diag.WithHint(failed, "the file is compressed: unpack it first, as with gunzip")
	}
	return diag.WithHint(failed, "docker-archive: is for what 'docker save NAME -o FILE' writes; the tar of a root file system is "+
		"named with --base linux/amd64=rootfs:%s", file)
}

// isGzip reports whether the file begins as gzip does (RFC 1952 section 2.3.1).
func isGzip(file string) (bool, error) {
	f, err := filekind.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	magic := make([]byte, 2)
	if _, err := io.ReadFull(f, magic); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return magic[0] == 0x1f && magic[1] == 0x8b, nil
}

func fromArchive(st *store.Store, img v1.Image) (Opened, error) {
	config, err := img.ConfigFile()
	if err != nil {
		return Opened{}, fmt.Errorf("reading the archive: %w", err)
	}
	id, err := img.ConfigName()
	if err != nil {
		return Opened{}, fmt.Errorf("reading the archive: %w", err)
	}
	layers, err := img.Layers()
	if err != nil {
		return Opened{}, fmt.Errorf("reading the archive: %w", err)
	}
	if len(layers) != len(config.RootFS.DiffIDs) {
		return Opened{}, fmt.Errorf("reading the archive: %d layers and %d digests of their content", len(layers),
			len(config.RootFS.DiffIDs))
	}
	image := Image{Digest: id, Config: *config}
	platform := config.OS + "/" + config.Architecture
	for i, l := range layers {
		want := config.RootFS.DiffIDs[i]
		packed, err := layer.Pack(st, "content "+want.String(), func(w io.Writer) error {
			r, err := l.Uncompressed()
			if err != nil {
				return err
			}
			defer r.Close()
			h := sha256.New()
			if _, err := io.Copy(io.MultiWriter(w, h), r); err != nil {
				return err
			}
			if got := hex.EncodeToString(h.Sum(nil)); got != want.Hex {
				return fmt.Errorf("layer %d has sha256:%s, not %s", i+1, got, want)
			}
			return nil
		})
		if err != nil {
			return Opened{}, fmt.Errorf("reading the archive: %w", err)
		}
		packed.What = layerName(platform, i)
		image.Layers = append(image.Layers, packed)
	}
	return Opened{Images: map[string]Image{platform: image}}, nil
}

// openEngine reads an image of the engine through a file: its layers stand in
// no useful order.
func openEngine(ctx context.Context, s Sources, name string) (Opened, error) {
	if s.Save == nil {
		return Opened{}, errors.New("no container engine is at hand")
	}
	r, err := s.Save(ctx, name)
	if err != nil {
		return Opened{}, err
	}
	defer r.Close()
	f, err := os.CreateTemp("", "sbx-devc-image-*.tar")
	if err != nil {
		return Opened{}, err
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, r)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return Opened{}, fmt.Errorf("spooling the image: %w", err)
	}
	return openArchive(s, f.Name())
}

// holdsFiles refuses what is no tar, or one without a single file.
func holdsFiles(file string) error {
	r, err := openTar(file)
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err = tar.NewReader(r).Next(); errors.Is(err, io.EOF) {
		return errors.New("the tar is empty")
	}
	return err
}

// openTar opens a tar that may be compressed by gzip.
func openTar(file string) (io.ReadCloser, error) {
	zipped, err := isGzip(file)
	if err != nil {
		return nil, err
	}
	f, err := filekind.Open(file)
	if err != nil || !zipped {
		return f, err
	}
	content, err := gzip.NewReader(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return unzipped{content, f}, nil
}

// unzipped is a compressed file's content.
type unzipped struct {
	io.Reader
	io.Closer
}

// openRootfs makes an image of one layer out of a tar.
func openRootfs(s Sources, file string, platforms []string) (Opened, error) {
	if len(platforms) != 1 {
		return Opened{}, diag.WithHint(errors.New("a root file system does not say which platform it is for"),
			"write --base linux/amd64=rootfs:FILE, and the same for linux/arm64 if you have it")
	}
	digest, err := fileDigest(file)
	if err != nil {
		return Opened{}, err
	}
	if err := holdsFiles(file); err != nil {
		return Opened{}, diag.WithHint(fmt.Errorf("no root file system: %w", err),
			"rootfs: is for a tar of all files, also compressed by gzip, as 'docker export CONTAINER' writes it")
	}
	packed, err := layer.Pack(s.Store, "rootfs "+digest.String(), func(w io.Writer) error {
		r, err := openTar(file)
		if err != nil {
			return err
		}
		defer r.Close()
		_, err = io.Copy(w, r)
		return err
	})
	if err != nil {
		return Opened{}, err
	}
	packed.What = layerName(platforms[0], 0)
	arch := strings.TrimPrefix(platforms[0], "linux/")
	config := v1.ConfigFile{OS: "linux", Architecture: arch, Config: v1.Config{
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}}
	return Opened{Images: map[string]Image{platforms[0]: {Digest: digest, Config: config, Layers: []artifact.Layer{packed}}}}, nil
}

func fileDigest(file string) (v1.Hash, error) {
	f, err := filekind.Open(file)
	if err != nil {
		return v1.Hash{}, err
	}
	defer f.Close()
	h, _, err := v1.SHA256(f)
	return h, err
}
