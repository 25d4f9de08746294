// Package golden keeps a test's input and its wanted output side by side in
// one txtar file.
//
//	testdata/NAME.txtar ── files ──► the test ── got ──► Compare with the file "want…"
//	                          ▲                              │
//	                          └──────── go test -update ─────┘
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what the tests got into the golden files")

// Updating reports whether -update asks for the golden files to be rewritten,
// for tests that keep theirs in another form.
func Updating() bool { return *update }

// Run runs one subtest for each txtar file that the pattern matches, named
// after the file. No match is an error, so that a renamed folder cannot
// silence a test.
func Run(t *testing.T, pattern string, test func(t *testing.T, c *Case)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden file matches %s (%v)", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { test(t, Open(t, file)) })
	}
}

// Open reads one txtar file for a test that has a single one. Under -update it is written
// when the test has passed.
func Open(t testing.TB, file string) *Case {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if *update && !t.Failed() {
			if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
				t.Error(err)
			}
		}
	})
	return &Case{file: file, archive: archive}
}

// Case is one txtar file.
type Case struct {
	file    string
	archive *txtar.Archive
}

// Input returns the named file's content, or fails the test when there is none.
func (c *Case) Input(t testing.TB, name string) []byte {
	t.Helper()
	if f := c.find(name); f != nil {
		return f.Data
	}
	t.Fatalf("%s has no file %q", c.file, name)
	return nil
}

// Compare fails the test unless got is the named file's content. Under -update
// it stores got instead, adding the file when there is none.
func (c *Case) Compare(t testing.TB, name, got string) {
	t.Helper()
	if got != "" && !strings.HasSuffix(got, "\n") {
		got += "\n" // txtar cannot hold a last line without its end
	}
	f := c.find(name)
	switch {
	case *update && f == nil:
		c.archive.Files = append(c.archive.Files, txtar.File{Name: name, Data: []byte(got)})
	case *update:
		f.Data = []byte(got)
	case f == nil:
		t.Errorf("%s has no file %q; go test -update adds it:\n%s", c.file, name, got)
	case string(f.Data) != got:
		t.Errorf("%s differs (go test -update accepts it):\n%s", c.file, diff.Diff("want "+name, f.Data, "got", []byte(got)))
	}
}

func (c *Case) find(name string) *txtar.File {
	for i := range c.archive.Files {
		if c.archive.Files[i].Name == name {
			return &c.archive.Files[i]
		}
	}
	return nil
}
