package base

import (
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A layout as other programs write it: the image is named directly, with its
// kind, and something that is no image lies beside it.
func TestALayoutOfAnotherProgram(t *testing.T) {
	dir := t.TempDir()
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	image, err := random.Image(100, 2)
	if err != nil {
		t.Fatal(err)
	}
	image = mutate.MediaType(mutate.ConfigMediaType(image, types.OCIConfigJSON), types.OCIManifestSchema1)
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "arm64"
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	if err := p.AppendImage(image); err != nil {
		t.Fatal(err)
	}
	if err := p.AppendDescriptor(v1.Descriptor{MediaType: types.OCIManifestSchema1, ArtifactType: "application/spdx+json",
		Digest: v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)}}); err != nil {
		t.Fatal(err)
	}
	want, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	a, err := Layout(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := a.For("arm64"); !ok || len(a.Images) != 1 || got.Digest != want {
		t.Errorf("%d images, for arm64 %s, want %s", len(a.Images), got.Digest, want)
	}
}
