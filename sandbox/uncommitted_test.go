package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// A person is told which files of the agent's commits hold changes of his own, which he had
// not committed, and of no others.
func TestUncommittedFilesInCommits(t *testing.T) {
	sum := func(text string) string {
		if text == "" {
			return ""
		}
		at := sha256.Sum256([]byte(text))
		return hex.EncodeToString(at[:])
	}
	// was and now are what the folder held; base and head what the commits hold, "" = nothing.
	files := map[string]struct {
		was, now, base, head string
		mine                 bool
	}{
		"untracked":               {"mine", "mine", "", "mine", true},
		"modified":                {"mine", "mine", "old", "mine", true},
		"removed":                 {"", "", "old", "", true},
		"modified-and-edited":     {"mine", "mine, edited", "old", "mine, edited", true},
		"edited":                  {"old", "new", "old", "new", false},
		"made":                    {"", "new", "", "new", false},
		"removed-by-the-agent":    {"old", "", "old", "", false},
		"edited-after-the-commit": {"old", "newer", "old", "new", false},
		"converted":               {"a\r\n", "b\r\n", "a\n", "b\n", false},
		"committed-and-removed":   {"", "", "", "new", false},
		"not-in-the-commits":      {"mine", "mine", "old", "old", false},
		"deep/untracked":          {"mine", "mine", "", "mine", true},
	}
	dir := t.TempDir()
	set := &changes.Set{}
	var touched []gitdir.Touched
	var want []string
	for path, f := range files {
		if f.now != "" {
			name := filepath.Join(dir, path)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(f.now), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if f.was != f.now {
			set.Changes = append(set.Changes, changes.Change{Path: path, Sum: sum(f.now), SumWas: sum(f.was)})
		}
		if f.base != f.head {
			touched = append(touched, gitdir.Touched{Path: path, Before: sum(f.base), Now: sum(f.head)})
		}
		if f.mine {
			want = append(want, path)
		}
	}
	got := uncommitted(dir, set, touched)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// A file that was not looked at proves nothing.
	if got := uncommitted(dir, &changes.Set{Unseen: []string{"x"}}, touched); got != nil {
		t.Errorf("%q", got)
	}
}

// Attack: a commit has a file in the place of a folder that is a link to the user's own
// files. Nothing is read behind it.
func TestAttackUncommittedFilesBehindALink(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "f"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	testenv.Symlink(t, outside, filepath.Join(dir, "link"))
	at := sha256.Sum256([]byte("x"))
	if got := uncommitted(dir, &changes.Set{}, []gitdir.Touched{{Path: "link/f", Now: hex.EncodeToString(at[:])}}); got != nil {
		t.Errorf("%q", got)
	}
}
