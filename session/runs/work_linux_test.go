package runs

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Attack: the agent closes folders of its copy, as Go closes those of its modules, and what
// a person discards stays.
func TestAttackACopyThatCannotBeRemoved(t *testing.T) {
	testenv.Root(t)
	const user = 1000
	base := t.TempDir()
	if err := os.Chmod(filepath.Dir(base), 0o755); err != nil { // the test's own
		t.Fatal(err)
	}
	w := Work{Project: filepath.Join(base, "project"), Tree: filepath.Join(base, "tree")}
	for _, dir := range []string{w.Project, filepath.Join(w.Tree, "a/b"), filepath.Join(w.Tree, "c")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(w.Tree, "a/b/f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(w.Project, filepath.Join(w.Tree, "c/out")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a/b/f", "a/b", "a", "c", ".", ".."} {
		if err := os.Chown(filepath.Join(w.Tree, name), user, user); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"tree/a/b": 0o500, "tree/a": 0o500, "tree/c": 0, "project": 0o750} {
		if err := os.Chmod(filepath.Join(base, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its user
		if err := unix.Setfsuid(user); err != nil {
			done <- err
			return
		}
		done <- w.RemoveTree(t.Context())
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(w.Tree); err == nil {
		t.Error("the copy is still there")
	}
	if info, err := os.Stat(w.Project); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("behind a link: %v %v", info.Mode(), err)
	}
	if err := (Work{Project: w.Project, Tree: w.Project}).RemoveTree(t.Context()); err == nil {
		t.Error("the project is removed")
	}
}
