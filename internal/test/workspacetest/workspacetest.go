// Package workspacetest makes folders of projects for tests.
package workspacetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/workspace"
)

// Folder returns a workspace with the given entries: "dir/", "file",
// "link -> target".
func Folder(t testing.TB, entries ...string) *workspace.Workspace {
	t.Helper()
	dir := t.TempDir()
	for _, e := range entries {
		name, target, link := strings.Cut(e, " -> ")
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case link:
			err = os.Symlink(target, file)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(file, 0o755)
		default:
			err = os.WriteFile(file, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w, err := workspace.Inspect(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.UID, w.GID, w.Writable, w.Closed = 4242, 4243, true, nil
	return w
}
