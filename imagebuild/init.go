package imagebuild

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/release"
)

// epoch is the time stamp of everything we put into an image, so that the same
// binary gives the same digest on every machine.
var epoch = v1.Time{Time: time.Unix(0, 0).UTC()}

// InitImage returns the image that holds nothing but /sbx-init (mode 0755,
// owner root) for linux/arch. The same binary gives the same digest.
func InitImage(binary []byte, arch string) (v1.Image, error) {
	var archive bytes.Buffer
	tw := tar.NewWriter(&archive)
	err := tw.WriteHeader(&tar.Header{
		Name: "sbx-init", Mode: 0o755, Size: int64(len(binary)), ModTime: epoch.Time,
		Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
	})
	if err == nil {
		_, err = tw.Write(binary)
	}
	if err == nil {
		err = tw.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("packing sbx-init: %w", err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
	})
	if err != nil {
		return nil, fmt.Errorf("packing sbx-init: %w", err)
	}
	image, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: epoch, CreatedBy: "sbx-devc", Comment: "sbx-init " + release.Version},
	})
	if err != nil {
		return nil, fmt.Errorf("assembling the init image: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("assembling the init image: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, epoch
	config.Config.Entrypoint = []string{"/sbx-init"}
	return mutate.ConfigFile(image, config)
}

// CarriedInit returns the sbx-init binary that this sbx-devc carries for the
// engine's architecture. Without one the error has a hint.
func CarriedInit(ctx context.Context, e *engine.Engine) (binary []byte, arch string, err error) {
	info, err := e.Info(ctx)
	if err != nil {
		return nil, "", err
	}
	binary, err = carried.Init(info.Arch)
	if err != nil {
		return nil, "", diag.WithHint(err, "build sbx-devc with scripts/build, or use a released one")
	}
	return binary, info.Arch, nil
}

// LoadInit puts the init image into the engine under the name
// release.InitImage() and returns that name. It does nothing when the engine
// has exactly this image already.
func LoadInit(ctx context.Context, e *engine.Engine) (ref string, err error) {
	binary, arch, err := CarriedInit(ctx, e)
	if err != nil {
		return "", err
	}
	image, err := InitImage(binary, arch)
	if err != nil {
		return "", err
	}
	ref = release.InitImage()
	id, err := image.ConfigName()
	if err != nil {
		return "", fmt.Errorf("assembling the init image: %w", err)
	}
	if have, err := e.ImageInspect(ctx, ref); err == nil && have.ID == id.String() {
		return ref, nil
	}
	tag, err := name.NewTag(ref)
	if err != nil {
		return "", fmt.Errorf("naming the init image: %w", err)
	}
	return ref, load(ctx, e, tag, image)
}

// load writes an image into the engine under the name ref.
func load(ctx context.Context, e *engine.Engine, ref name.Reference, image v1.Image) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(tarball.Write(ref, image, w)) }()
	defer r.Close()
	return e.Load(ctx, r)
}
