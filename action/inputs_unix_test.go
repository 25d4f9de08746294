//go:build unix

package action

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Attack: an earlier step leaves files in the workspace that the job never comes to the end of.
func TestAttackAWorkspaceWithoutAnEnd(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	testenv.Endless(t, filepath.Join(dir, "task.md"), func() {
		if text, err := readPrompt(root, "task.md"); err == nil {
			t.Errorf("the prompt is %.20q", text)
		}
	})
	config := filepath.Join(dir, ".git", "modules", "a", "config")
	if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
		t.Fatal(err)
	}
	testenv.Endless(t, config, func() { (&inputParser{}).leftToken(dir) })
}
