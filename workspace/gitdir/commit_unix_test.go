//go:build unix

package gitdir

import (
	"path/filepath"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Attack: an agent leaves a .git that a review never comes to the end of.
func TestAttackARepositoryWithoutAnEnd(t *testing.T) {
	dir := t.TempDir()
	testenv.Endless(t, filepath.Join(dir, ".git"), func() {
		if _, err := Commit(t.Context(), dir, "branch", "message", []string{"file"}); err == nil {
			t.Error("it is a repository")
		}
	})
}
