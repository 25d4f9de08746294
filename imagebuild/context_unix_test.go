//go:build unix

package imagebuild

import (
	"path/filepath"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Attack: an agent leaves files that a build of the project never comes to the end of.
func TestAttackABuildWithoutAnEnd(t *testing.T) {
	dir := t.TempDir()
	testenv.Endless(t, filepath.Join(dir, ".dockerignore"), func() {
		if _, err := readIgnore(dir, "Dockerfile"); err == nil {
			t.Error("it is read")
		}
	})
	testenv.Endless(t, filepath.Join(dir, "pinned"), func() {
		if ref, err := ReadPinned(filepath.Join(dir, "pinned")); err == nil {
			t.Errorf("it names %s", ref)
		}
	})
}
