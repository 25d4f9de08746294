package workspace

import (
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/hostprogram"
)

// ExcludePrograms makes sure that this process starts no program from the folder dir, see
// package hostprogram, nor from a repository or a project around it: the agent of another
// run may have had that. Folders that no run may have are left alone: people keep programs
// in a home folder that is a repository.
func ExcludePrograms(dir string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return
	}
	if real, err = filepath.Abs(real); err != nil {
		return
	}
	for at := real; ; at = filepath.Dir(at) {
		if (at == real || isRoot(at)) && CheckFolder(at) == nil {
			hostprogram.Exclude(at)
		}
		if at == filepath.Dir(at) {
			return
		}
	}
}

// ExcludeAdded does so for what AddFolder shows by a name in the project dir.
func ExcludeAdded(dir, name string) { hostprogram.Exclude(addedSource(dir, homeFolder(), name)) }

// isRoot reports whether a repository or a project begins in a folder.
func isRoot(dir string) bool {
	for _, name := range []string{".git", ".devcontainer", ".devcontainer.json"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
