package repotest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxLine is how long a line of Go outside tests may be, in characters.
const maxLine = 140

// productFiles returns the Go files outside tests: paths from this package to texts.
func productFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == filepath.Join(root, "internal", "test"), e.IsDir() && (e.Name() == ".git" || e.Name() == "testdata"):
			return filepath.SkipDir
		case e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil || len(files) < 100 {
		t.Fatalf("looked at %d files: %v", len(files), err)
	}
	return files
}

// A line that is longer hides what it decides.
func TestLinesAreShort(t *testing.T) {
	for path, text := range productFiles(t) {
		for i, line := range strings.Split(text, "\n") {
			if n := utf8.RuneCountInString(line); n > maxLine {
				t.Errorf("%s:%d has %d characters", path, i+1, n)
			}
		}
	}
}
