package session

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Attack: an agent leaves a symbolic link in the place of the prompt's file, and
// the next run tells it what is in a file of the user's.
func TestAttackLinkInThePlaceOfThePrompt(t *testing.T) {
	base := t.TempDir()
	project, secret := filepath.Join(base, "project"), filepath.Join(base, "key")
	err := errors.Join(os.MkdirAll(filepath.Join(project, "docs"), 0o755), os.WriteFile(secret, []byte("secret"), 0o600),
		os.WriteFile(filepath.Join(project, "docs", "task.md"), []byte("task"), 0o600),
		os.WriteFile(filepath.Join(base, "own.md"), []byte("own"), 0o600),
		os.Symlink(secret, filepath.Join(project, "absolute.md")), os.Symlink("../key", filepath.Join(project, "relative.md")),
		os.Symlink("..", filepath.Join(project, "up")), os.Symlink("docs/task.md", filepath.Join(project, "inside.md")),
		os.Symlink(project, filepath.Join(base, "way")))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"project/docs/task.md": "task", "project/inside.md": "task", "own.md": "own", "way/docs/task.md": "task",
		"project/docs/../docs/task.md": "task",
		"project/absolute.md":          "", "project/relative.md": "", "project/up/key": "", "way/relative.md": "", "project/docs": "",
	} {
		if text, err := ReadPromptFile(filepath.Join(base, filepath.FromSlash(file)), project); text != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v", file, text, err)
		}
	}
}
