package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/copytree"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// Work says where the files are that a run's agent worked on.
type Work struct {
	Run     string // its id
	Project string // the user's folder
	// Settings is the folder whose settings the run had: Project, or a part of it.
	Settings string
	// Tree is the folder as the agent left it: Project itself where the run had it
	// mounted, otherwise a folder below the run's own.
	Tree string
	// Gone says that Tree, a copy, was removed: nothing of it can be taken any more.
	Gone bool
	// Cloned says that Tree began with the project's last commit, and not with its files.
	Cloned bool
	// Commits are the agent's, in groups of those that share a bundle.
	Commits [][]gitdir.Commits
	// Sources are where the secrets of a run that was killed came from, for which its commits
	// are not searched; nil of any other run.
	Sources *sandbox.Sources
}

// InPlace reports that the agent's changes are in the project already.
func (w Work) InPlace() bool { return w.Tree == w.Project }

// WorkOf is what the run in a folder worked on. It errs when the run left no summary, or one
// that names no project, or a tree outside of the run's folder. Programs of the
// project are not started from now on, see workspace.ExcludePrograms.
func WorkOf(folder string) (Work, error) {
	var s struct {
		summary
		Commits       []gitdir.Commits
		SecretSources *sandbox.Sources
	}
	text, err := os.ReadFile(filepath.Join(folder, sandbox.SummaryFile))
	if err != nil {
		return Work{}, exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("the run left no summary: %w", err),
			"its commits are taken when it ends; 'sbx-devc ls' lists the runs"))
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return Work{}, exitcode.With(exitcode.NoInput, fmt.Errorf("reading the run's summary: %w", err))
	}
	w := Work{Run: filepath.Base(folder), Project: s.Folder, Settings: cmp.Or(s.SettingsFolder, s.Folder), Tree: s.Folder,
		Cloned: s.Workspace == string(workspace.Clone), Commits: gitdir.ByBundle(s.Commits), Sources: s.SecretSources}
	if s.Folder == "" {
		return w, exitcode.With(exitcode.NoInput, fmt.Errorf("the run in %s does not say which project it was of", folder))
	}
	workspace.ExcludePrograms(s.Folder)
	if s.WorkTree != "" {
		w.Tree = filepath.Join(folder, s.WorkTree)
		if !filepath.IsLocal(s.WorkTree) {
			return w, exitcode.With(exitcode.NoInput, fmt.Errorf("the run's copy of the project is not in its folder: %q in %s", s.WorkTree, folder))
		}
		w.Gone = !filekind.IsFolder(w.Tree)
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
