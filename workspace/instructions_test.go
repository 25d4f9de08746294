package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// A killed run leaves empty folders behind; they are no instructions.
func TestEmptyFoldersAreNoInstructions(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"CLAUDE.md", ".claude/skills"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := unreadInstructions(dir); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}
