package gitdir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Attack: an agent of an earlier time left pointers in the project, so that the
// next run shows the agent another repository of the host's.
func TestAttackPointersToAnotherRepository(t *testing.T) {
	for _, c := range []struct {
		name  string
		file  string // in the project
		text  string // SECRET stands for the other repository's .git
		files bool   // .git is a file
	}{
		{"borrowed objects", ".git/objects/info/alternates", "SECRET/objects\n", false},
		{"borrowed objects behind a comment", ".git/objects/info/alternates", "# ours\n\n  SECRET/objects\n", false},
		{"commondir", ".git/commondir", "SECRET\n", false},
		{"a .git file", ".git", "gitdir: SECRET\n", true},
		{"a .git file to a worktree that is none", ".git", "gitdir: SECRET/worktrees/x\n", true},
		{"a .git file to a folder of its own with a commondir", "own/commondir", "SECRET\n", true},
		{"nothing", ".git/description", "SECRET\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newVolume(t)
			secret := filepath.Join(v.secret, ".git")
			folders, files := []string{".git"}, []string(nil)
			if c.files {
				folders, files = nil, []string{".git"}
				if err := os.RemoveAll(filepath.Join(v.host, ".git")); err != nil {
					t.Fatal(err)
				}
				v.command(v.secret, "worktree", "add", "-q", filepath.Join(v.secret, "x"))
				v.command(v.host, "init", "-q", "--bare", "own")
				if err := os.WriteFile(filepath.Join(v.host, ".git"), []byte("gitdir: own\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			text := strings.ReplaceAll(c.text, "SECRET", secret)
			if err := os.WriteFile(filepath.Join(v.host, filepath.FromSlash(c.file)), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			r := Look(v.host, folders, files).Repositories[0]
			if shown := len(r.Stores) > 0; shown != (c.name == "nothing") || shown == (r.Problem != "") {
				t.Errorf("%d git directories for the agent, problem %q", len(r.Stores), r.Problem)
			}
		})
	}
}
