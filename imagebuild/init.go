package imagebuild

import (
	"bytes"
	"context"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/layer"
	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/release"
)

// InitArtifact returns the image that holds nothing but /sbx-init (mode 0755,
// owner root), for each architecture of binaries. The same binaries give the
// same digest.
func InitArtifact(binaries map[string][]byte, about About) (artifact.Artifact, error) {
	var images []artifact.Manifest
	annotations := about.annotations()
	for arch, binary := range binaries {
		var content, packed bytes.Buffer
		err := layer.Tar(&content, []layer.Entry{{Path: "sbx-init", Mode: 0o755, Data: binary}}, epoch)
		if err != nil {
			return artifact.Artifact{}, err
		}
		diffID, _, err := v1.SHA256(bytes.NewReader(content.Bytes()))
		if err == nil {
			err = layer.Gzip(&packed, &content)
		}
		if err != nil {
			return artifact.Artifact{}, fmt.Errorf("packing sbx-init: %w", err)
		}
		image, err := artifact.Image(
			v1.ConfigFile{OS: "linux", Architecture: arch, Created: v1.Time{Time: epoch},
				Config: v1.Config{Entrypoint: []string{"/sbx-init"}, Labels: annotations}},
			[]artifact.Layer{{Blob: artifact.Bytes(types.OCILayer, packed.Bytes(), "sbx-init for linux/"+arch), DiffID: diffID,
				CreatedBy: "sbx-init " + release.Version}},
			annotations)
		if err != nil {
			return artifact.Artifact{}, err
		}
		images = append(images, image)
	}
	return artifact.Index(images, annotations)
}

// CarriedInit returns the sbx-init binary that this sbx-devc carries for the
// engine's architecture. Without one the error has a hint.
func CarriedInit(ctx context.Context, e *engine.Engine) (binary []byte, arch string, err error) {
	info, err := e.Info(ctx)
	if err != nil {
		return nil, "", err
	}
	binary, err = binaryFor(info.Arch)
	return binary, info.Arch, err
}

// CarriedInits returns the sbx-init binaries that this sbx-devc carries, by architecture.
func CarriedInits() (map[string][]byte, error) {
	binaries := map[string][]byte{}
	for _, arch := range []string{"amd64", "arm64"} {
		binary, err := binaryFor(arch)
		if err != nil {
			return nil, err
		}
		binaries[arch] = binary
	}
	return binaries, nil
}

func binaryFor(arch string) ([]byte, error) {
	binary, err := carried.Init(arch)
	if err != nil {
		err = diag.WithHint(err, "build sbx-devc with scripts/build, or use a released one")
	}
	return binary, err
}

// LoadInit puts the init image into the engine under the name
// release.InitImage() and returns that name. It does nothing when the engine
// has exactly this image already.
func LoadInit(ctx context.Context, e *engine.Engine) (ref string, err error) {
	binary, arch, err := CarriedInit(ctx, e)
	if err != nil {
		return "", err
	}
	a, err := InitArtifact(map[string][]byte{arch: binary}, About{})
	if err != nil {
		return "", err
	}
	ref = release.InitImage()
	_, err = Load(ctx, e, a, []string{ref})
	return ref, err
}
