package imagebuild

import (
	"archive/tar"
	"io"
	"testing"
)

func TestInitImageHoldsTheProgramAndNothingElse(t *testing.T) {
	image, err := InitImage([]byte("program"), "arm64")
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != "arm64" {
		t.Errorf("the image is for %s/%s", config.OS, config.Architecture)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	tr := tar.NewReader(content)
	h, err := tr.Next()
	if err != nil {
		t.Fatal(err)
	}
	if h.Name != "sbx-init" || h.Mode != 0o755 || h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(epoch.Time) {
		t.Errorf("the program is packed as %+v", h)
	}
	if data, err := io.ReadAll(tr); err != nil || string(data) != "program" {
		t.Errorf("the program is %q, %v", data, err)
	}
	if h, err := tr.Next(); err != io.EOF {
		t.Errorf("the image also holds %+v, %v", h, err)
	}
}

func TestSameBinarySameDigest(t *testing.T) {
	digest := func(binary string) string {
		t.Helper()
		image, err := InitImage([]byte(binary), "amd64")
		if err != nil {
			t.Fatal(err)
		}
		d, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d.String()
	}
	first := digest("one")
	if digest("one") != first {
		t.Error("two builds of one binary differ")
	}
	if digest("two") == first {
		t.Error("two binaries have one digest")
	}
}
