package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// TestCleanRemovesEmptyFoldersOnly: what init made goes, what holds something
// stays, and nothing is touched while a container has the project.
func TestCleanRemovesEmptyFoldersOnly(t *testing.T) {
	e := enginetest.Connect(t)
	dir := projects.Real(t.TempDir())
	if code, _, said := call(t, "init", "--yes", dir); code != 0 {
		t.Fatal(said)
	}
	kept := filepath.Join(dir, ".idea", "workspace.xml")
	if err := os.WriteFile(kept, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	id, err := e.Create(t.Context(), engine.Spec{
		Image: standIn(t, "clean"), Labels: map[string]string{runplan.LabelFolder: dir},
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
	if code, _, said := call(t, "clean", dir); code != 0 ||
		!strings.Contains(said, "removed empty folders: .devcontainer.json, .vscode, .claude, .husky, .githooks, commondir") {
		t.Errorf("exit %d: %s", code, said)
	}
	for name, want := range map[string]bool{".vscode": false, "commondir": false, ".idea/workspace.xml": true,
		".devcontainer/devcontainer.json": true} {
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

// clean --images names the images that runs built for the project, for projects that are
// gone, and in other versions; those of projects that are there, and other people's, stay.
func TestCleanNamesTheImagesOfRuns(t *testing.T) {
	e := enginetest.Connect(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dirs := map[string]string{"here": projects.Real(t.TempDir()), "there": projects.Real(t.TempDir()), "gone": projects.Real(t.TempDir()),
		"unknown": "/nowhere/" + filepath.Base(t.TempDir())}
	for _, name := range []string{"there", "gone"} {
		if code, _, said := call(t, "init", "--yes", dirs[name]); code != 0 { // which accepts its files
			t.Fatal(said)
		}
	}
	if err := os.RemoveAll(dirs["gone"]); err != nil {
		t.Fatal(err)
	}
	base, tags := standIn(t, "clean-images"), map[string]string{}
	for name, dir := range dirs {
		sum := sha256.Sum256([]byte(dir))
		tags[name] = fmt.Sprintf("sbx-devc-project-%x:latest", sum[:8])
	}
	tags["another version"], tags["somebody's"] = "claude-sandbox-default:0123456789abcdef", "claude-sandbox-default:mine"
	tags["a template's"] = "claude-sandbox-claude-node:0123456789abcdef"
	for _, tag := range tags {
		if err := e.Tag(t.Context(), base, tag); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.ImageRemove(context.WithoutCancel(t.Context()), tag) })
	}
	for _, c := range []struct{ flags, named string }{
		{"--images", "here gone another version"}, {"--images --all-projects", "here there gone unknown another version a template's"}, {"", ""},
	} {
		code, _, said := call(t, append([]string{"clean", "--dry-run", dirs["here"]}, strings.Fields(c.flags)...)...)
		if code != 0 {
			t.Fatalf("%s: exit %d: %s", c.flags, code, said)
		}
		for name, tag := range tags {
			if got := strings.Contains(said, "would remove the image "+tag); got != strings.Contains(c.named, name) {
				t.Errorf("clean %s: %s, %s: named %v\n%s", c.flags, name, tag, got, said)
			}
		}
	}
}
