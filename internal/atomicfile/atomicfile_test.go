package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// is checks the content of name and that nothing else is in its folder.
func is(t *testing.T, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s holds %q (%v), want %q", name, got, err, want)
	}
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(entries) != 1 {
		t.Errorf("want %s alone in its folder, got %v (%v)", name, entries, err)
	}
}

func TestFailureLeavesTheOldFileAndNothingElse(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := WriteBytes(name, 0o600, []byte("old")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := Write(name, 0o600, func(w io.Writer) error {
		io.WriteString(w, "half") //nolint:errcheck // what counts is the error below
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the writer", err)
	}
	is(t, name, "old")
	if err := WriteBytes(name, 0o600, []byte("new")); err != nil {
		t.Fatal(err)
	}
	is(t, name, "new")
}

// Whoever can put a link in the place of a file must not be able to lead what
// we write to another one.
func TestLinkIsReplacedAndNotFollowed(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "f")
	testenv.Symlink(t, victim, name)
	if err := WriteBytes(name, 0o644, []byte("new")); err != nil {
		t.Fatal(err)
	}
	is(t, name, "new")
	is(t, victim, "precious")
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode() != 0o644 {
		t.Errorf("got %v (%v), want a regular file of mode 0644", info, err)
	}
}

// A device's or a folder's name is a mistake, and what stands there stays.
func TestOnlyFilesAreReplaced(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	testenv.Symlink(t, os.DevNull, link)
	for name, want := range map[string]error{dir: syscall.EISDIR, link: ErrNotRegular} {
		before, err := os.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		err = Write(name, 0o600, func(io.Writer) error { t.Errorf("%s: written", name); return nil })
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
		if after, err := os.Lstat(name); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s: something else stands there (%v)", name, err)
		}
	}
}

func TestReplaceKeepsTheModeAndWhatSomebodyElseWrote(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Replace(name, []byte("old"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	is(t, name, "new")
	if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := Replace(name, []byte("old"), []byte("lost")); !errors.Is(err, ErrChanged) {
		t.Errorf("a file that has changed: %v", err)
	}
	is(t, name, "new")
	link := filepath.Join(t.TempDir(), "link")
	testenv.Symlink(t, name, link)
	if err := Replace(link, []byte("new"), []byte("lost")); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a link: %v", err)
	}
	is(t, name, "new")
}

// Whoever repairs a file of somebody's as root leaves it theirs.
func TestReplaceKeepsOwnerAndMode(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if os.Chown(name, 1234, 4321) != nil {
		t.Skip("only root gives files away")
	}
	if err := Replace(name, []byte("old"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	is(t, name, "new")
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Fatal(info, err)
	}
	if s := reflect.ValueOf(info.Sys()).Elem(); s.FieldByName("Uid").Uint() != 1234 || s.FieldByName("Gid").Uint() != 4321 {
		t.Errorf("it belongs to %v:%v", s.FieldByName("Uid"), s.FieldByName("Gid"))
	}
}
