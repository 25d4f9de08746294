package imagebuild

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// packed returns the names in the context of a folder that holds files and the
// given .dockerignore.
func packed(t *testing.T, ignore string, files ...string) []string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range append(files, "Dockerfile") {
		file = filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if ignore != "" {
		if err := os.WriteFile(filepath.Join(dir, ".dockerignore"), []byte(ignore), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list, err := readIgnore(dir, "Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := packContext(&buf, dir, list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for tr := tar.NewReader(&buf); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Uname != "" {
			t.Errorf("%s belongs to %d %q in the context", h.Name, h.Uid, h.Uname)
		}
		if h.Typeflag == tar.TypeReg && h.Name != "Dockerfile" && h.Name != ".dockerignore" {
			names = append(names, h.Name)
		} else if h.Typeflag == tar.TypeReg {
			names = append(names, strings.ToUpper(h.Name))
		}
	}
}

func TestDockerignore(t *testing.T) {
	all := []string{".env", "a.go", "dir/.env", "dir/sub/b.log", "dir/sub/c.go"}
	for _, c := range []struct {
		name, ignore string
		want         []string
	}{
		{"none", "", []string{".env", "a.go", "dir/.env", "dir/sub/b.log", "dir/sub/c.go"}},
		{"comment and name at the root only", "# secrets\n.env\n", []string{"a.go", "dir/.env", "dir/sub/b.log", "dir/sub/c.go"}},
		{"any depth", "**/.env\n**/*.log", []string{"a.go", "dir/sub/c.go"}},
		{"a folder", "/dir/", []string{".env", "a.go"}},
		{"exception below a folder", "dir\n!dir/sub/*.go", []string{".env", "a.go", "dir/sub/c.go"}},
		{"the last line decides", "!a.go\n*.go", []string{".env", "dir/.env", "dir/sub/b.log", "dir/sub/c.go"}},
		{"the Dockerfile stays", "*", nil},
	} {
		got := packed(t, c.ignore, all...)
		want := append(slices.Clone(c.want), "DOCKERFILE")
		if c.ignore != "" {
			want = append(want, ".DOCKERIGNORE")
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the context holds %q, want %q", c.name, got, want)
		}
	}
}
