package features_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/org/claude-sandbox/features"
	"github.com/org/claude-sandbox/imagebuild/npm"
	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// TestFeatureIsStandard compares the Feature's metadata with the specification's
// own schema, where that is at hand.
func TestFeatureIsStandard(t *testing.T) {
	file := testenv.Corpus(t, "schema", "devContainerFeature.schema.json")
	schema, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	for id, load := range map[string]func() (*features.Feature, error){"firewall": features.Firewall, "claude": features.Claude} {
		f, err := load()
		if err != nil || f.ID != id || f.Version == "" {
			t.Fatal(f, err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(f.Metadata))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if features.IsFirewall(f.Metadata) != (id == "firewall") || features.IsClaude(f.Metadata) != (id == "claude") {
			t.Errorf("%s passes for the other one", id)
		}
	}
}

// The Feature claude installs what a run brings along.
func TestClaudeIsPinned(t *testing.T) {
	f, err := features.Claude()
	if err != nil {
		t.Fatal(err)
	}
	files, err := f.Files()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(files, func(f features.File) bool { return f.Name == "install.sh" })
	for arch, name := range map[string]string{"amd64": "x64", "arm64": "arm64"} {
		p, err := npm.Pinned(arch, npm.Glibc)
		if want := "version=" + p.Version + "\n"; err != nil || !bytes.Contains(files[at].Content, []byte(want)) {
			t.Errorf("install.sh lacks %q: %v", want, err)
		}
		if want := "integrity_" + name + "=" + p.Integrity + "\n"; !bytes.Contains(files[at].Content, []byte(want)) {
			t.Errorf("install.sh lacks %q", want)
		}
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
	want := map[string]bool{"./devcontainer-feature.json": true, "./install.sh": true, "./entrypoint.sh": true,
		"./sbx-init-linux-amd64.gz": true, "./sbx-init-linux-arm64.gz": true}
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
