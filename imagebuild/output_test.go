package imagebuild

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestNamesHaveATag(t *testing.T) {
	for tag, want := range map[string][]string{
		"": nil, "me": {"me:latest"}, "me:v1": {"me:v1"}, "host:5000/me": {"host:5000/me:latest"}, "host:5000/me:v1": {"host:5000/me:v1"},
	} {
		if got := (Output{Tag: tag}).Names(); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", tag, got, want)
		}
	}
}

func TestOutputsThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    Output
		fine bool
	}{
		{Output{}, true},
		{Output{Tag: "me:v1", OCI: dir, Tar: file}, true},
		{Output{OCI: filepath.Join(dir, "new"), Tar: filepath.Join(dir, "new.tar")}, true},
		{Output{Tag: "Me Too"}, false},
		{Output{OCI: file}, false},
		{Output{Tar: dir}, false},
		{Output{Tar: filepath.Join(dir, "none", "x.tar")}, false},
	} {
		if err := c.o.Check(); (err == nil) != c.fine {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

func TestPinned(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pinned")
	if err := WritePinned(file, "ghcr.io/me/sandbox", "sha256:00"); err != nil {
		t.Fatal(err)
	}
	if ref, err := ReadPinned(file); err != nil || ref != "ghcr.io/me/sandbox@sha256:00" {
		t.Errorf("%q, %v", ref, err)
	}
	for _, text := range []string{"", "ghcr.io/me/sandbox:v1\n", "a@sha256:00\nb@sha256:00\n", "--flag a@sha256:00"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if ref, err := ReadPinned(file); err == nil {
			t.Errorf("%q is taken for %q", text, ref)
		}
	}
}
