package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
)

// A bare repository has no files: a run in it would read git's own, and init would write among
// them.
func TestABareRepositoryIsNoProject(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"objects", "refs", "work"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := CheckFolder(dir); err != nil {
		t.Errorf("without a HEAD it is none: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := CheckFolder(dir)
	if !errors.Is(err, ErrRefused) || !strings.Contains(diag.HintOf(err), "git worktree add") {
		t.Errorf("%v, hint %q", err, diag.HintOf(err))
	}
	if err := CheckFolder(filepath.Join(dir, "work")); err != nil {
		t.Errorf("a worktree in it: %v", err)
	}
}
