package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// The attack among them: another user puts a project above a folder that is nobody's,
// such as /tmp, and commands there would work on his.
func TestProjectAround(t *testing.T) {
	base := folderReal(t)
	for _, dir := range []string{"home/plain/sub", "home/repo/.git/refs", "home/repo/pkg/.git", "home/repo/pkg/deep", "shared/work/sub",
		"home/above/repo/.git/refs", "home/above/repo/sub"} {
		if err := os.MkdirAll(filepath.Join(base, filepath.FromSlash(dir)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Join(base, "home")
	for _, c := range []struct{ name, here, project, want string }{
		{"the folder itself", "shared/work", "shared/work", "shared/work"},
		{"above, in the repository", "home/repo/pkg/deep", "home/repo/pkg", "home/repo/pkg"},
		{"the repository's root", "home/repo/pkg/deep", "home/repo", "home/repo"},
		{"above the repository", "home/above/repo/sub", "home/above", "home/above/repo/sub"},
		{"above, in the home", "home/plain/sub", "home/plain", "home/plain"},
		{"the home itself", "home/plain/sub", "home", "home/plain/sub"},
		{"above, where others write", "shared/work/sub", "shared", "shared/work/sub"},
		{"nowhere", "home/plain/sub", "none", "home/plain/sub"},
	} {
		got := ProjectAround(filepath.Join(base, filepath.FromSlash(c.here)), home,
			func(dir string) bool { return dir == filepath.Join(base, filepath.FromSlash(c.project)) })
		if want := filepath.Join(base, filepath.FromSlash(c.want)); got != want {
			t.Errorf("%s: got %s, want %s", c.name, got, want)
		}
	}
}

// Attack: another user makes a folder above, where everybody may write or which is his,
// a repository and a project.
func TestAttackAProjectPlantedAbove(t *testing.T) {
	base := folderReal(t)
	open, foreign := filepath.Join(base, "open"), filepath.Join(base, "foreign")
	for _, dir := range []string{open, foreign} {
		for _, name := range []string{".git/refs", "work/sub", "work/repo/.git/refs", "work/repo/sub"} {
			if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chmod(open, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	tops := []string{open}
	if os.Geteuid() == 0 && os.Chown(foreign, 4711, 4711) == nil {
		tops = append(tops, foreign)
	}
	for _, top := range tops {
		here := filepath.Join(top, "work", "sub")
		if got := ProjectAround(here, "", func(dir string) bool { return dir == top }); got != here {
			t.Errorf("a command in %s works on %s", here, got)
		}
		in := filepath.Join(top, "work", "repo", "sub")
		if got := ProjectAround(in, "", func(dir string) bool { return dir == filepath.Dir(in) }); got != filepath.Dir(in) {
			t.Errorf("the user's own repository below is not found: %s", got)
		}
	}
}

func folderReal(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
