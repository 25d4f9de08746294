package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/filelock"
	"github.com/org/claude-sandbox/session/amend"
	"github.com/org/claude-sandbox/session/runs"
)

// A command that finds another one at work on the same file waits a while, and then says so
// and changes nothing.
func TestAnotherCommandWrites(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		lock func(settings, state string) string
	}{
		"trust": {[]string{"trust", "--yes"}, func(settings, _ string) string { return filepath.Join(settings, "sbx-devc", "trust.lock") }},
		"allow": {[]string{"allow", "docs.example.com", "--project"}, func(_, state string) string {
			return amend.LockFile(runs.HomeOf(func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }, func(string) {}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings, state, project := t.TempDir(), t.TempDir(), t.TempDir()
			const text = `{"network": {"allow": ["a.example"]}}` + "\n"
			writeFiles(t, project, map[string]string{".devcontainer/sandbox.jsonc": text})
			lock := c.lock(settings, state)
			writeFiles(t, filepath.Dir(lock), map[string]string{filepath.Base(lock): ""})
			held, err := filelock.Wait(t.Context(), lock)
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			env := map[string]string{"XDG_CONFIG_HOME": settings, "XDG_STATE_HOME": state, "HOME": t.TempDir()}
			_, said, code := imageRun(t, env, append(c.args, project)...)
			if code != exitLocked || !strings.Contains(said, "hint: ") {
				t.Errorf("exit %d: %s", code, said)
			}
			if after := readFile(t, filepath.Join(project, ".devcontainer/sandbox.jsonc")); after != text {
				t.Errorf("the file is %s", after)
			}
		})
	}
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
