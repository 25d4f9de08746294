package runs

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/copytree"
)

// Work says where the files are that a run's agent worked on.
type Work struct {
	Run     string // its id
	Project string // the user's folder
	// Tree is the folder as the agent left it: Project itself where the run had it
	// mounted, otherwise a folder below the run's own.
	Tree string
	// Cloned says that Tree began with the project's last commit, and not with its files.
	Cloned bool
}

// InPlace reports that the agent's changes are in the project already.
func (w Work) InPlace() bool { return w.Tree == w.Project }

// Work is where the files of the run in a folder are. It errs when the summary does
// not name the project, or names a tree that is no folder of the run's. Programs of the
// project are not started from now on, see workspace.ExcludePrograms.
func (h Home) Work(folder string) (Work, error) {
	s := readSummary(folder)
	w := Work{Run: filepath.Base(folder), Project: s.Folder, Tree: s.Folder, Cloned: s.Workspace == string(workspace.Clone)}
	if s.Folder == "" {
		return w, exitcode.With(exitcode.NoInput, fmt.Errorf("the run in %s does not say which project it was of", folder))
	}
	workspace.ExcludePrograms(s.Folder)
	if s.WorkTree != "" {
		w.Tree = filepath.Join(folder, s.WorkTree)
		if !filepath.IsLocal(s.WorkTree) || !filekind.IsFolder(w.Tree) {
			return w, exitcode.With(exitcode.NoInput, fmt.Errorf("the run's copy of the project is gone: %q in %s", s.WorkTree, folder))
		}
	}
	return w, nil
}

// RemoveTree removes the run's copy of the project, as copytree.Remove does. It errs for
// a run that has none.
func (w Work) RemoveTree(ctx context.Context) error {
	if w.InPlace() {
		return fmt.Errorf("the run worked in %s itself", w.Project)
	}
	return copytree.Remove(ctx, w.Tree)
}
