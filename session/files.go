package session

import (
	"os"
	"path/filepath"
)

// Files that the user names for a run are often in the project, where an agent
// of an earlier run could have changed them.

// InProject returns a file's path relative to the project's folder, and whether
// the way to it, as it is written, leads through that.
func InProject(file, project string) (rel string, ok bool) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", false
	}
	folder, err := os.Stat(project)
	if err != nil {
		return "", false
	}
	for dir := filepath.Dir(abs); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, folder) {
			rel, err := filepath.Rel(dir, abs)
			return rel, err == nil
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
	}
}
