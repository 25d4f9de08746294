package gitdir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Attack: an earlier run's agent left a repository whose index is a huge hole, which git
// on this machine would read at each start.
func TestAttackAHugeIndexOfANestedRepository(t *testing.T) {
	dir := t.TempDir()
	index := filepath.Join(dir, "index")
	if err := os.WriteFile(index, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(index, maxNested+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Submodules(dir, true); err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") {
		t.Errorf("got %v", err)
	}
}
