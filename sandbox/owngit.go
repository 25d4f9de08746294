package sandbox

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/gitdir"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// gitMounts are the mounts of the agent's own git directories outside of the
// workspace, and by its path those in it. A .git file of ours has no source
// before the run has written it. Where the workspace does not tell upper from
// lower case, each is mounted at every name of .git: the engine's kernel may know
// each name as another place.
func gitMounts(w *workspace.Workspace, git gitdir.Layout) (outside []engine.Mount, covers map[string]engine.Mount) {
	covers = map[string]engine.Mount{}
	for _, p := range git.Private {
		m := engine.Mount{Volume: p.Volume, Target: p.Place}
		if p.Place == path.Join(workspaceTarget, p.Path) {
			covers[p.Path] = m
		} else {
			outside = append(outside, m)
		}
	}
	for _, f := range git.Files {
		covers[f.Path] = engine.Mount{Target: path.Join(workspaceTarget, f.Path), ReadOnly: true}
	}
	for _, rel := range git.Plain {
		covers[rel] = engine.Mount{Source: filepath.Join(w.Dir, filepath.FromSlash(rel)), Target: path.Join(workspaceTarget, rel), ReadOnly: true}
	}
	for rel, m := range maps.Clone(covers) {
		for _, name := range w.Spellings[rel] {
			spelled := path.Join(path.Dir(rel), name)
			m.Target = path.Join(workspaceTarget, spelled)
			covers[spelled] = m
		}
	}
	for _, m := range git.Mounts {
		outside = append(outside, engine.Mount{Source: m.Source, Target: m.Target, ReadOnly: true})
	}
	return outside, covers
}

// gitFileName begins the names of our .git files in a run's folder.
const gitFileName = "gitfile-"

// writeGitFiles writes the .git files of ours, which are mounted over those of
// the host, into folder, and returns the mounts with their sources.
func writeGitFiles(folder string, git gitdir.Layout, mounts []engine.Mount) ([]engine.Mount, error) {
	mounts = slices.Clone(mounts)
	for i, f := range git.Files {
		source := filepath.Join(folder, fmt.Sprintf("%s%d", gitFileName, i))
		if err := os.WriteFile(source, []byte(f.Text), 0o644); err != nil {
			return nil, fmt.Errorf("%w: writing a .git file for the agent: %w", ErrNoStart, err)
		}
		for at, m := range mounts {
			if m.Source == "" && m.Volume == "" && obeyed.IsGitName(path.Base(m.Target)) && path.Dir(m.Target) == path.Join(workspaceTarget, path.Dir(f.Path)) {
				mounts[at].Source = source
			}
		}
	}
	return mounts, nil
}

// fillGit fills the volumes of the agent's own git directories.
func fillGit(ctx context.Context, e *engine.Engine, sidecar string, p *Plan) error {
	if len(p.Git.Private) == 0 {
		return nil
	}
	from, to := io.Pipe()
	go func() { to.CloseWithError(p.Git.Fill(to, p.gitOwner)) }()
	err := e.CopyTar(ctx, sidecar, gitdir.Volumes, from)
	_ = from.CloseWithError(err)
	if err != nil {
		return fmt.Errorf("%w: giving the agent its own git directory: %w", ErrNoStart, err)
	}
	return nil
}

// inWorkspace reports where in the workspace a mount is that must hold: one of
// the project's own paths, or what is mounted over a .git.
func (p *Plan) inWorkspace(m engine.Mount) (rel string, ok bool) {
	if rel, ok := strings.CutPrefix(m.Target, workspaceTarget+"/"); ok && obeyed.IsGitName(path.Base(rel)) {
		return rel, true
	}
	if m.Source == "" {
		return "", false
	}
	rel, err := filepath.Rel(p.Folder(), m.Source)
	return filepath.ToSlash(rel), err == nil && rel != "." && filepath.IsLocal(rel)
}
