package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/session/runs"
)

// TestCleanRemovesEmptyFoldersOnly: what init made goes, what holds something
// stays, and nothing is touched while a container has the project.
func TestCleanRemovesEmptyFoldersOnly(t *testing.T) {
	e := enginetest.Connect(t)
	dir := real(t.TempDir())
	if code, _, said := call(t, "init", "--yes", dir); code != 0 {
		t.Fatal(said)
	}
	kept := filepath.Join(dir, ".idea", "workspace.xml")
	if err := os.WriteFile(kept, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	id, err := e.Create(t.Context(), engine.Spec{
		Image: standIn(t, "clean"), Labels: map[string]string{runs.LabelFolder: dir},
		Process: engine.Process{Command: []string{"true"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	code, _, said := call(t, "clean", dir)
	if code != 75 || !strings.Contains(said, "is used by a dev container") || !exists(filepath.Join(dir, ".husky")) {
		t.Errorf("with a container: exit %d: %s", code, said)
	}
	if err := e.Remove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if code, _, said := call(t, "clean", dir); code != 0 || !strings.Contains(said, "removed empty folders: .devcontainer.json, .vscode, .claude, .husky, .githooks, commondir") {
		t.Errorf("exit %d: %s", code, said)
	}
	for name, want := range map[string]bool{".vscode": false, "commondir": false, ".idea/workspace.xml": true, ".devcontainer/devcontainer.json": true} {
		if exists(filepath.Join(dir, name)) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
	if code, _, said := call(t, "clean", dir); code != 0 || !strings.Contains(said, "nothing to remove") {
		t.Errorf("a second time: exit %d: %s", code, said)
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, os.ErrNotExist)
}
