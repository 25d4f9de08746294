package changes

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTheSearchForRepositoriesIsNotFooled by other spellings, which are the
// same name on some hosts, by links, and by a commondir that is added to a bare
// repository that was there before.
func TestTheSearchForRepositoriesIsNotFooled(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"fixture.git/HEAD", "fixture.git/objects/x", "fixture.git/refs/x", "old/.git/HEAD", "empty/.git/x"} {
		write(name, "")
	}
	before, err := Take(t.Context(), dir, Options{Keep: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	if again := before.Compare(t.Context()).Repositories; len(again) > 0 {
		t.Errorf("without a change: %q", again)
	}
	for name, text := range map[string]string{
		"upper/.GIT/HEAD": "", "head/head": "", "head/commondir": "x", "fixture.git/commondir": "x", "old/.git/index": "",
		"notes/HEAD": "", "notes/refs": "",
		"hidden/.git/x/HEAD": "", "hidden/.git/x/objects/y": "", "hidden/.git/x/refs/y": "", // behind a .git that is none
		"upper/.GIT/modules/a/b/HEAD": "", "upper/.GIT/modules/a/b/objects/y": "", "upper/.GIT/modules/a/b/refs/y": "",
	} {
		write(name, text)
	}
	if err := os.Symlink("old/.git", filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	set := before.Compare(t.Context())
	got := strings.Join(set.RepositoryWarnings(20), " ")
	for _, want := range []string{"upper/.GIT (a repository)", "head (a bare repository",
		"fixture.git (a bare repository whose configuration is elsewhere)", " .git (a symbolic link)", "hidden/.git/x (a bare repository)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not reported: %s", want, got)
		}
	}
	if dirs := set.GitDirs(); !slices.Contains(dirs, "upper/.GIT/modules/a/b") || slices.Contains(dirs, ".git") {
		t.Errorf("git obeys %q", dirs)
	}
	for _, bad := range []string{"old/.git", "empty", "notes"} {
		if strings.Contains(got, bad) {
			t.Errorf("%s is no news: %s", bad, got)
		}
	}
}

// Attack: commits give a file a name that some file systems take for its old one.
func TestAttackAnotherCaseInCommits(t *testing.T) {
	file := &State{What: File, Mode: 0o644, Size: 2}
	set := Of([]Pair{{Path: "a.txt", Before: file, Old: []byte("x\n")}, {Path: "A.txt", After: file, New: []byte("y\n")}}, []string{"A.txt"})
	for _, c := range set.Changes {
		if c.Path == "A.txt" && c.Twin != "a.txt" {
			t.Errorf("%+v", c)
		}
	}
}
