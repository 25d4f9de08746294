package base

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/klauspost/compress/gzip"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/layer"
	"github.com/org/claude-sandbox/imagebuild/store"
	"github.com/org/claude-sandbox/internal/diag"
)

// openArchive reads a docker-save file. Its layers are compressed into the
// store, each once: a layer that the store knows is not even read.
func openArchive(s Sources, file string) (Opened, error) {
	img, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		return Opened{}, fmt.Errorf("reading the archive: %w", err)
	}
	return fromArchive(s.Store, img)
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
		return Opened{}, fmt.Errorf("reading the archive: %d layers and %d digests of their content", len(layers), len(config.RootFS.DiffIDs))
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

// openRootfs makes an image of one layer out of a tar.
func openRootfs(s Sources, file string, platforms []string) (Opened, error) {
	if len(platforms) != 1 {
		return Opened{}, diag.WithHint(errors.New("a root file system does not say which platform it is for"), "write --base linux/amd64=rootfs:FILE, and the same for linux/arm64 if you have it")
	}
	digest, err := fileDigest(file)
	if err != nil {
		return Opened{}, err
	}
	packed, err := layer.Pack(s.Store, "rootfs "+digest.String(), func(w io.Writer) error {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		var r io.Reader = f
		if magic := make([]byte, 2); true {
			if _, err := io.ReadFull(f, magic); err != nil {
				return err
			}
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return err
			}
			if magic[0] == 0x1f && magic[1] == 0x8b {
				if r, err = gzip.NewReader(f); err != nil {
					return err
				}
			}
		}
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
	f, err := os.Open(file)
	if err != nil {
		return v1.Hash{}, err
	}
	defer f.Close()
	h, _, err := v1.SHA256(f)
	return h, err
}
