package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/diag"
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

// ReadPromptFile reads a file. One of the project's may be a symbolic link that
// the agent has made, and its content goes to the agent: it must not lead out of
// the project.
func ReadPromptFile(file, project string) ([]byte, error) {
	rel, inside := InProject(file, project)
	if !inside {
		return os.ReadFile(file)
	}
	root, err := os.OpenRoot(project)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(rel)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file")
	}
	if err == nil {
		var text []byte
		if text, err = root.ReadFile(rel); err == nil {
			return text, nil
		}
	}
	if link, linkErr := root.Lstat(rel); linkErr == nil && link.Mode()&os.ModeSymlink != 0 {
		err = diag.WithHint(fmt.Errorf("%s is a symbolic link in the project: %w", file, err), "an agent can make such links to files of yours, whose content would go to it: name the file itself")
	}
	return nil, err
}
