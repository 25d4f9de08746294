package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheSearchForRepositoriesIsNotFooled by other spellings, which are the
// same name on some hosts, by links, and by a commondir that is added to a bare
// repository that was there before.
func TestTheSearchForRepositoriesIsNotFooled(t *testing.T) {
	w := folder(t, "fixture.git/HEAD", "fixture.git/objects/", "fixture.git/refs/", "old/.git/HEAD", "empty/.git/")
	for name, text := range map[string]string{
		"upper/.GIT/HEAD": "", "head/head": "", "head/commondir": "x", "fixture.git/commondir": "x", "old/.git/index": "", "notes/HEAD": "", "notes/refs": "",
	} {
		file := filepath.Join(w.Dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("old/.git", filepath.Join(w.Dir, ".git")); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(newRepositories(t.Context(), w.Dir, w.before), "\n")
	for _, want := range []string{"upper/.GIT (a repository)", "head (a bare repository", "fixture.git (a bare repository whose configuration is elsewhere)", " .git (a symbolic link)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not reported: %s", want, got)
		}
	}
	for _, bad := range []string{"old/.git", "empty", "notes"} {
		if strings.Contains(got, bad) {
			t.Errorf("%s is no news: %s", bad, got)
		}
	}
	if again := newRepositories(t.Context(), w.Dir, findRepositories(t.Context(), w.Dir)); len(again) > 0 {
		t.Errorf("without a change: %q", again)
	}
}
