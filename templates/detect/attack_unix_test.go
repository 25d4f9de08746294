//go:build unix

package detect_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestLinkOutOfTheRepository: what lies elsewhere on the host must not be read
// on a repository's word, by a link to a file or to a folder.
func TestLinkOutOfTheRepository(t *testing.T) {
	outside := project(t, map[string]string{"npmrc": "registry=https://private.example/", "sub/go.mod": ""})
	dir := project(t, map[string]string{"README": ""})
	for link, target := range map[string]string{".npmrc": "npmrc", "below": "sub", "package.json": "npmrc", ".git": "sub"} {
		if err := os.Symlink(filepath.Join(outside, target), filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if r := look(t, dir); len(r.Hosts)+len(r.Presets) > 0 || r.Template.Value != "" {
		t.Errorf("read through a link: %+v", r)
	}
}

// TestPipeInTheRepository: a FIFO must not hold init forever.
func TestPipeInTheRepository(t *testing.T) {
	dir := project(t, map[string]string{"go.mod": ""})
	for _, name := range []string{".npmrc", "package.json", ".mcp.json", ".gitmodules"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if r := look(t, dir); r.Template.Value != "claude-go" {
			t.Errorf("template %q", r.Template.Value)
		}
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("waits for a writer")
	}
}

// TestHugeFile: a file of gigabytes (sparse, so that it costs nothing here) is
// read up to a bound.
func TestHugeFile(t *testing.T) {
	dir := project(t, map[string]string{"package-lock.json": "{\"resolved\": \"https://first.example/x\"}\n"})
	if err := os.Truncate(filepath.Join(dir, "package-lock.json"), 8<<30); err != nil {
		t.Fatal(err)
	}
	r := look(t, dir)
	if len(r.Hosts) != 1 || len(r.Notes) == 0 {
		t.Errorf("hosts %v, notes %v", flat(r.Hosts), flat(r.Notes))
	}
}
