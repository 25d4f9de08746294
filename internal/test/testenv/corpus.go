package testenv

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Corpus returns the path of a file or folder of the corpora: files of other people
// that tests read and this repository may not hold. They lie in shared/data next to the
// repository. Without that folder the test skips, in CI as well, because a fork does not
// have it; where only the wanted part is missing, the test fails.
func Corpus(t testing.TB, elem ...string) string {
	t.Helper()
	data := filepath.Join(repository(t), "..", "shared", "data")
	if _, err := os.Stat(data); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("needs the corpora, which are not next to this clone: %s", data)
	}
	file := filepath.Join(append([]string{data}, elem...)...)
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	return file
}

// repository is the folder of go.mod: the test's own, or the nearest above it.
func repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("the test runs outside of the repository")
		}
		dir = filepath.Dir(dir)
	}
}

// Symlink makes a symbolic link. On Windows, where that takes a right of its own, the
// test skips without it.
func Symlink(t testing.TB, target, link string) {
	t.Helper()
	err := os.Symlink(target, link)
	if err != nil && runtime.GOOS == "windows" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
