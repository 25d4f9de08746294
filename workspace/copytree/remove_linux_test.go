package copytree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// asUser runs do as another user of the file system.
func asUser(user int, do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its user
		if err := unix.Setfsuid(user); err != nil {
			done <- err
			return
		}
		done <- do()
	}()
	return <-done
}

// nest makes folders in one another, so many that no path names the last.
func nest(t *testing.T, dir string, depth int) {
	t.Helper()
	name := strings.Repeat("d", 40)
	at, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	for range depth {
		var next int
		err = errors.Join(err, unix.Mkdirat(at, name, 0o755))
		if err == nil {
			next, err = unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(at)
		at = next
	}
	unix.Close(at)
}

// Attack: an agent leaves a tree that is not removed: deeper than any path, with folders
// closed to their owner, in a process that may open few files.
func TestAttackATreeThatCannotBeRemoved(t *testing.T) {
	tree := filepath.Join(t.TempDir(), "tree")
	outside := t.TempDir()
	for _, dir := range []string{"deep", "closed/inner", "many"} {
		if err := os.MkdirAll(filepath.Join(tree, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"closed/inner/f", "many/f"} {
		if err := os.WriteFile(filepath.Join(tree, name), nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(outside, "mine"), nil, 0o600), os.Symlink(outside, filepath.Join(tree, "many", "out")),
		os.Chmod(filepath.Join(tree, "closed/inner"), 0), os.Chmod(filepath.Join(tree, "closed"), 0o100)); err != nil {
		t.Fatal(err)
	}
	remove := func() error {
		nest(t, filepath.Join(tree, "deep"), 1000)
		return Remove(t.Context(), tree)
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	few := unix.Rlimit{Cur: maxOpen + 100, Max: files.Max}
	err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few)
	t.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &files) })
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		err = remove()
	} else { // root is not stopped by modes
		const user = 1000
		shared := filepath.Dir(tree)
		err = errors.Join(os.Chown(shared, user, user), os.Chmod(filepath.Dir(shared), 0o755), filepath.WalkDir(tree,
			func(name string, _ os.DirEntry, err error) error {
				return errors.Join(err, os.Lchown(name, user, user))
			}))
		if err == nil {
			err = asUser(user, remove)
		}
	}
	if err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(tree); err == nil {
		t.Error("it is still there")
	}
	if _, err := os.Lstat(filepath.Join(outside, "mine")); err != nil {
		t.Error("behind a link: ", err)
	}
	if err := Remove(t.Context(), tree); err != nil {
		t.Error("a tree that is gone: ", err)
	}
}

// Attack: something of the user's is mounted in the tree, and goes with it.
func TestAttackAMountIsNotEmptied(t *testing.T) {
	testenv.Root(t)
	base := t.TempDir()
	tree, mine := filepath.Join(base, "tree"), filepath.Join(base, "mine")
	for _, dir := range []string{filepath.Join(tree, "a/mounted"), filepath.Join(tree, "b"), mine} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(mine, "work"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(mine, filepath.Join(tree, "a/mounted"), "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	err := Remove(t.Context(), tree)
	if umount := unix.Unmount(filepath.Join(tree, "a/mounted"), 0); umount != nil {
		t.Fatal(umount)
	}
	if err == nil || !strings.Contains(err.Error(), "mounted: ") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(filepath.Join(mine, "work")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(tree, "b")); err == nil {
		t.Error("what could be removed stays")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Remove(gone, tree); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Attack: while a tree is removed, a folder that is closed to its owner becomes a link to
// a file of the user's, which gets the folder's new mode.
func TestAttackAClosedFolderBecomesALink(t *testing.T) {
	testenv.Root(t)
	const user = 1000
	base := t.TempDir()
	tree, mine := filepath.Join(base, "tree"), filepath.Join(base, "mine")
	if err := errors.Join(os.MkdirAll(filepath.Join(tree, "folder"), 0), os.WriteFile(mine, nil, 0o600), os.Chown(mine, user, user),
		os.Chmod(filepath.Dir(base), 0o755), os.Chmod(tree, 0o755), os.Symlink(mine, filepath.Join(tree, "link"))); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Open(tree, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(at)
	tried, swapped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(swapped)
		for {
			select {
			case <-tried:
				return
			default:
				_ = unix.Renameat2(at, "folder", at, "link", unix.RENAME_EXCHANGE)
			}
		}
	}()
	_ = asUser(user, func() error { // who can remove neither, and so may try again
		for range 20_000 {
			(&remover{ctx: t.Context()}).entry(at, "folder")
		}
		return nil
	})
	close(tried)
	<-swapped
	if info, err := os.Stat(mine); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("behind the link: %v %v", info.Mode(), err)
	}
}
