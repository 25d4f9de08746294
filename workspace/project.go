package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Which folder is a project: ProjectAround finds it, and CheckFolder refuses what is
// more than one.

// ProjectAround returns the nearest folder from here upwards that is a project: up
// to the root of the repository or, where there is none, below the user's home. As
// git does, it looks in no folder above here that another user could have made a
// project of: one that belongs to somebody else than the user, root or here's owner,
// or where everybody may write, such as /tmp. It is here itself when there is none.
// Both paths are absolute and without symbolic links; home may be "".
func ProjectAround(here, home string, is func(dir string) bool) string {
	root := RepositoryOf(here)
	inHome := home != "" && strings.HasPrefix(here, strings.TrimRight(home, string(filepath.Separator))+string(filepath.Separator))
	for dir := here; ; dir = filepath.Dir(dir) {
		switch {
		case dir != here && !believed(dir, here):
			return here
		case is(dir):
			return dir
		case dir == root, root == "" && !inHome, dir == filepath.Dir(dir), filepath.Dir(dir) == home:
			return here
		}
	}
}

// believed reports whether what stands in the folder above is the word of somebody
// whom the user works for anyway in the folder here.
func believed(above, here string) bool {
	info, err := os.Stat(above)
	if err != nil || info.Mode().Perm()&0o002 != 0 && runtime.GOOS != "windows" {
		return false
	}
	owner, _ := Owner(info)
	if owner == os.Geteuid() || owner == 0 { // both are -1 on Windows
		return true
	}
	info, err = os.Stat(here)
	if err != nil {
		return false
	}
	same, _ := Owner(info)
	return owner == same
}

// RepositoryOf returns the nearest folder from dir, an absolute path, upwards that
// holds .git, or "". As to git, an empty folder is none: a run may have put it there.
func RepositoryOf(dir string) string {
	for {
		at := filepath.Join(dir, ".git")
		_, err := os.Lstat(at)
		if entries, readErr := os.ReadDir(at); err == nil && (readErr != nil || len(entries) > 0) {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}
