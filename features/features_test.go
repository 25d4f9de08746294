package features_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/org/claude-sandbox/features"
	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// TestFeatureIsStandard compares the Feature's metadata with the specification's
// own schema, where that is at hand.
func TestFeatureIsStandard(t *testing.T) {
	f, err := features.Firewall()
	if err != nil || f.ID != "firewall" || f.Version == "" {
		t.Fatal(f, err)
	}
	file := filepath.Join("..", "..", "shared", "data", "schema", "devContainerFeature.schema.json")
	if _, err := os.Stat(file); err != nil {
		t.Skipf("the official schema is not there: %v", err)
	}
	schema, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(f.Metadata))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Error(err)
	}
}

// The archive is what the registry gets: the scripts and both binaries, and the
// same bytes each time.
func TestArchive(t *testing.T) {
	f, err := features.Firewall()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := f.Archive()
	if errors.Is(err, carried.ErrNotCarried) {
		testenv.Missing(t, "the carried sbx-init", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	if again, err := f.Archive(); err != nil || !bytes.Equal(again, archive) {
		t.Errorf("another archive the second time: %v", err)
	}
	want := map[string]bool{"./devcontainer-feature.json": true, "./install.sh": true, "./entrypoint.sh": true, "./sbx-init-linux-amd64.gz": true, "./sbx-init-linux-arm64.gz": true}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !want[h.Name] || h.Size == 0 || h.Mode != 0o755 {
			t.Errorf("%s, %d bytes, mode %o", h.Name, h.Size, h.Mode)
		}
		delete(want, h.Name)
	}
	if len(want) > 0 {
		t.Errorf("not in the archive: %v", want)
	}
}
