package base

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/imagebuild/store"
	"github.com/org/claude-sandbox/internal/diag"
)

// A file of another kind than its source's form says is refused with what it
// may be instead; the forms are easily taken for one another.
func TestFilesOfAnotherKind(t *testing.T) {
	dir := t.TempDir()
	var plain, zipped bytes.Buffer
	w := tar.NewWriter(&plain)
	if err := w.WriteHeader(&tar.Header{Name: "etc/passwd", Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(plain.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"plain": plain.Bytes(), "zipped": zipped.Bytes(), "empty": nil, "text": []byte("hello")} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ kind, file, says, hint string }{
		{"docker-archive", "plain", "manifest.json", "rootfs:" + filepath.Join(dir, "plain")},
		{"docker-archive", "zipped", "", "gunzip"},
		{"docker-archive", "empty", "", "docker save"},
		{"docker-archive", "text", "", "docker save"},
		{"oci", "plain", "it is a file", "docker-archive:"},
		{"rootfs", "text", "no root file system", "docker export"},
		{"rootfs", "empty", "the tar is empty", "docker export"},
		{"rootfs", "plain", "", ""},
		{"rootfs", "zipped", "", ""},
	} {
		_, err := Open(context.Background(), Sources{Store: st}, c.kind+":"+filepath.Join(dir, c.file), []string{"linux/amd64"})
		switch {
		case c.hint == "":
			if err != nil {
				t.Errorf("%s: %s: %v", c.kind, c.file, err)
			}
		case err == nil:
			t.Errorf("%s: %s: read", c.kind, c.file)
		case !strings.Contains(err.Error(), c.says) || !strings.Contains(diag.HintOf(err), c.hint):
			t.Errorf("%s: %s: %v\nhint: %s", c.kind, c.file, err, diag.HintOf(err))
		}
	}
}
