package gitdir

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// A submodule is found in every version of the index and in a split one, wherever the
// mode of its entry is.
func TestSubmodulesOfAnIndex(t *testing.T) {
	entry := "160000," + strings.Repeat("1", 40) + ",sub"
	for name, steps := range map[string][][]string{
		"version 2": {{"update-index", "--index-version", "2", "--add", "--cacheinfo", entry}},
		"version 3": {{"update-index", "--add", "--cacheinfo", entry}, {"update-index", "--skip-worktree", "sub"}},
		"version 4": {{"update-index", "--index-version", "4", "--add", "--cacheinfo", entry}},
		"split":     {{"update-index", "--add", "--cacheinfo", entry}, {"update-index", "--split-index"}},
	} {
		dir := t.TempDir()
		for _, args := range append([][]string{{"init", "-q"}}, steps...) {
			if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
				t.Fatalf("%s: git %q: %v: %s", name, args, err, out)
			}
		}
		if found, err := Submodules(filepath.Join(dir, ".git"), false); err != nil || !slices.Equal(found, []string{"sub"}) {
			t.Errorf("%s: %q, %v", name, found, err)
		}
	}
	index := filepath.Join(t.TempDir(), "index")
	for at := 64<<10 - 5; at <= 64<<10+1; at++ {
		if err := os.WriteFile(index, append(bytes.Repeat([]byte{1}, at), ofSubmodule...), 0o600); err != nil {
			t.Fatal(err)
		}
		if may, err := mayHoldSubmodules(index); err != nil || !may {
			t.Errorf("at byte %d: %v, %v", at, may, err)
		}
	}
}
