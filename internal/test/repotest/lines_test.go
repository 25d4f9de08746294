package repotest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxLine is how long a line of Go may be, in characters; a tab is one.
const maxLine = 140

// goFiles returns the Go files of the repository, tests among them: paths from this package to texts. Test data is left out.
func goFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "testdata"):
			return filepath.SkipDir
		case e.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil || len(files) < 1000 {
		t.Fatalf("looked at %d files: %v", len(files), err)
	}
	return files
}

// productFiles returns the Go files outside tests: paths from this package to texts.
func productFiles(t *testing.T) map[string]string {
	t.Helper()
	files := goFiles(t)
	support := filepath.Join(root, "internal", "test") + string(filepath.Separator)
	maps.DeleteFunc(files, func(path, _ string) bool {
		return strings.HasPrefix(path, support) || strings.HasSuffix(path, "_test.go")
	})
	if len(files) < 100 {
		t.Fatalf("%d files outside tests", len(files))
	}
	return files
}

// A line that is longer hides what it decides, in a table of cases as well.
func TestLinesAreShort(t *testing.T) {
	for path, text := range goFiles(t) {
		for i, line := range strings.Split(text, "\n") {
			if n := utf8.RuneCountInString(line); n > maxLine {
				t.Errorf("%s:%d has %d characters", path, i+1, n)
			}
		}
	}
}
