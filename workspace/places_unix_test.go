//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Attack: an agent of an earlier run left what a later one never comes to the end of.
func TestAttackAProtectedPathWithoutAnEnd(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	testenv.Endless(t, filepath.Join(dir, ".git", "config"), func() {
		places, err := remember(dir, []string{".git/config"})
		if err != nil {
			t.Error(err)
		}
		places.Replaced()
		places.Close()
		LeftTokens(dir)
	})
}
