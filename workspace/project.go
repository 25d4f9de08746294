package workspace

import (
	"os"
	"path/filepath"
	"strings"
)

// Which folder is a project: ProjectAround finds it, and CheckFolder refuses what is
// more than one.

// ProjectAround returns the nearest folder from here upwards that is a project: up
// to the root of the repository or, where there is none, below the user's home.
// Elsewhere other users could have put a project above. It is here itself when there
// is none. Both paths are absolute and without symbolic links; home may be "".
func ProjectAround(here, home string, is func(dir string) bool) string {
	root := RepositoryOf(here)
	inHome := home != "" && strings.HasPrefix(here, strings.TrimRight(home, string(filepath.Separator))+string(filepath.Separator))
	for dir := here; ; dir = filepath.Dir(dir) {
		switch {
		case is(dir):
			return dir
		case dir == root, root == "" && !inHome, dir == filepath.Dir(dir), filepath.Dir(dir) == home:
			return here
		}
	}
}

// RepositoryOf returns the nearest folder from dir, an absolute path, upwards that
// holds .git, or "".
func RepositoryOf(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}
