//go:build unix

package copytree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestCopy(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "tree")
	write(t, filepath.Join(from, "a", "b"), "text")
	write(t, filepath.Join(from, ".git", "config"), "never copied")
	write(t, filepath.Join(from, "sub", ".git"), "gitdir: ../.git/modules/sub\n")
	if err := errors.Join(os.Chmod(filepath.Join(from, "a", "b"), 0o6555), os.Chmod(filepath.Join(from, "a"), 0o555),
		syscall.Mkfifo(filepath.Join(from, "pipe"), 0o644)); err != nil {
		t.Fatal(err)
	}
	notes, err := Copy(context.Background(), from, to, Options{Empty: []string{".git"}, UID: -1, GID: -1})
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "pipe") {
		t.Fatalf("%v, %q", err, notes)
	}
	was, _ := os.Stat(filepath.Join(from, "a", "b"))
	now, err := os.Stat(filepath.Join(to, "a", "b"))
	if err != nil || now.Mode() != 0o755 || !now.ModTime().Equal(was.ModTime()) || os.SameFile(was, now) {
		t.Errorf("%v, %v", now, err)
	}
	if entries, err := os.ReadDir(filepath.Join(to, ".git")); err != nil || len(entries) != 0 {
		t.Errorf("the git directory holds %v, %v", entries, err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "sub", ".git")); err != nil || !strings.HasPrefix(string(text), "gitdir") {
		t.Errorf("%q, %v", text, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Copy(ctx, from, filepath.Join(t.TempDir(), "tree"), Options{UID: -1}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Copy(context.Background(), from, to, Options{UID: -1}); err == nil {
		t.Error("a copy over another one")
	}
}

// Attack: links in the project lead the copy to files of the user's elsewhere.
func TestAttackACopyFollowsLinks(t *testing.T) {
	from, to, secret := t.TempDir(), filepath.Join(t.TempDir(), "tree"), t.TempDir()
	write(t, filepath.Join(secret, "key"), "canary")
	if err := errors.Join(os.Symlink(secret, filepath.Join(from, "folder")),
		os.Symlink(filepath.Join(secret, "key"), filepath.Join(from, "file"))); err != nil {
		t.Fatal(err)
	}
	if _, err := Copy(context.Background(), from, to, Options{UID: -1}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"folder", "file"} {
		if info, err := os.Lstat(filepath.Join(to, name)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is %v, %v", name, info, err)
		}
	}
	// A link that takes a folder's place after it was looked at.
	root, err := os.OpenRoot(from)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	target, err := os.OpenRoot(to)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	c := &copier{ctx: context.Background(), from: root, to: target, o: Options{UID: -1}, entries: maxEntries, bytes: maxBytes}
	info, _ := os.Stat(filepath.Join(secret, "key"))
	if err := errors.Join(c.folder("folder"), c.file("file", info)); err != nil {
		t.Fatal(err)
	}
	_ = filepath.WalkDir(to, func(name string, d os.DirEntry, err error) error {
		if d.Type().IsRegular() {
			t.Errorf("%s was copied", name)
		}
		return err
	})
}

func TestACopyHasBounds(t *testing.T) {
	from := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		write(t, filepath.Join(from, name), "text")
	}
	root, err := os.OpenRoot(from)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, c := range map[string]*copier{"files": {entries: 2, bytes: 100}, "bytes": {entries: 9, bytes: 5}} {
		target, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		c.ctx, c.from, c.to, c.o = context.Background(), root, target, Options{UID: -1}
		if err := c.folder("."); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
		target.Close()
	}
}
