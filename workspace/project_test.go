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
	for _, dir := range []string{"home/plain/sub", "home/repo/.git", "home/repo/pkg/deep", "shared/work/sub", "home/above/repo/.git", "home/above/repo/sub"} {
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
		got := ProjectAround(filepath.Join(base, filepath.FromSlash(c.here)), home, func(dir string) bool { return dir == filepath.Join(base, filepath.FromSlash(c.project)) })
		if want := filepath.Join(base, filepath.FromSlash(c.want)); got != want {
			t.Errorf("%s: got %s, want %s", c.name, got, want)
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
