package trust

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/internal/filekind"
)

// maxPointer bounds the files with which git points to a folder, in bytes.
const maxPointer = 1 << 16

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
		if info, err := os.Lstat(filepath.Join(tree, ".git")); err == nil {
			main := mainOf(tree, info)
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
			entries, _ := os.ReadDir(filepath.Join(common, "worktrees"))
			for _, e := range entries {
				pointer, _ := readPointer(filepath.Join(common, "worktrees", e.Name(), "gitdir"))
				dir := filepath.Join(filepath.Dir(absolute(filepath.Join(common, "worktrees", e.Name()), pointer)), rel)
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

// mainOf returns the folder of which tree is a linked worktree; "" where it is none,
// or where the repository does not say so too: a .git file is the project's word.
func mainOf(tree string, git os.FileInfo) string {
	pointer := filepath.Join(tree, ".git")
	if !git.Mode().IsRegular() {
		return ""
	}
	text, ok := readPointer(pointer)
	at, isPointer := strings.CutPrefix(text, "gitdir: ")
	if !ok || !isPointer {
		return ""
	}
	at = absolute(tree, at)
	back, ok := readPointer(filepath.Join(at, "gitdir"))
	if !ok || !sameFile(absolute(at, back), pointer) {
		return ""
	}
	text, ok = readPointer(filepath.Join(at, "commondir"))
	if !ok {
		return ""
	}
	common, err := filepath.EvalSymlinks(absolute(at, text))
	// The folder is one of the repository's own list, and not a folder of the project
	// which says that it belongs there.
	if real, realErr := filepath.EvalSymlinks(at); err != nil || realErr != nil || filepath.Dir(real) != filepath.Join(common, "worktrees") {
		return ""
	}
	if filepath.Base(common) == ".git" {
		return filepath.Dir(common)
	}
	return common
}

// readPointer reads a short regular file without the line end.
func readPointer(name string) (string, bool) {
	text, err := filekind.Read(name, maxPointer)
	return strings.TrimRight(string(text), "\r\n"), err == nil
}

func absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

func sameFile(a, b string) bool {
	one, err := os.Lstat(a)
	other, otherErr := os.Lstat(b)
	return err == nil && otherErr == nil && os.SameFile(one, other)
}
