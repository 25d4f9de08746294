package trust

import (
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/workspace/gitdir"
)

// Project is the name that a project has in the store: its real path, and for a
// folder in a linked worktree the place that it has in the main one, or in the bare
// repository.
func Project(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	for tree := dir; ; tree = filepath.Dir(tree) {
		if _, err := os.Lstat(filepath.Join(tree, ".git")); err == nil {
			main := gitdir.MainOf(tree)
			if main == "" {
				return dir, nil
			}
			rel, err := filepath.Rel(tree, dir)
			return filepath.Join(main, rel), err
		}
		if tree == filepath.Dir(tree) {
			return dir, nil
		}
	}
}

// Linked returns the places that a project, which Project named, has in the linked
// worktrees of its repository.
func Linked(project string) []string {
	var linked []string
	for tree := project; ; tree = filepath.Dir(tree) {
		rel, err := filepath.Rel(tree, project)
		if err != nil {
			return linked
		}
		for _, common := range []string{filepath.Join(tree, ".git"), tree} { // tree itself is a bare repository
			for _, folder := range gitdir.Worktrees(common) {
				dir := filepath.Join(folder, rel)
				if named, err := Project(dir); err == nil && named == project {
					linked = append(linked, dir)
				}
			}
		}
		if tree == filepath.Dir(tree) {
			return linked
		}
	}
}
