package sandbox

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// workspaceTarget is where the agent sees the project.
const workspaceTarget = "/workspace"

// workspaceMounts returns the mounts that show the project to the agent with
// the protected paths read-only, and the placeholders that they need.
//
// A mount point cannot be renamed or removed from inside, but its parent could:
// after `mv .git old` a new .git/hooks would be writable. Every parent is
// therefore bound onto itself, which makes it a mount point too.
//
// Each .git is covered by the agent's own, see gitdir.
//
// Sockets and pipes are covered by a device that takes everything and says
// nothing.
//
// A symbolic link on the way is refused: the engine would follow it on the
// host, and a project could have any folder of the host mounted that way.
func workspaceMounts(w *workspace.Workspace, protect []string, git gitdir.Layout) ([]engine.Mount, []workspace.Placeholder, error) {
	mounts := map[string]engine.Mount{".": {Source: w.Dir, Target: workspaceTarget}}
	outside, covers := gitMounts(w, git)
	protect = slices.DeleteFunc(slices.Clone(protect), w.Git.Covers)
	protect = append(protect, slices.Sorted(maps.Keys(covers))...)
	placeholders := map[string]workspace.Placeholder{}
	bind := func(rel string, readOnly bool) {
		m := mounts[rel]
		mounts[rel] = engine.Mount{
			Source:   filepath.Join(w.Dir, filepath.FromSlash(rel)),
			Target:   path.Join(workspaceTarget, rel),
			ReadOnly: readOnly || m.ReadOnly, // a path that is protected itself stays so
		}
	}
	hold := func(rel string, kind workspace.Kind, text string, shared bool) {
		if _, ok := placeholders[rel]; !ok {
			placeholders[rel] = workspace.Placeholder{Path: filepath.Join(w.Dir, filepath.FromSlash(rel)), Kind: kind, Text: text, Shared: shared}
		}
	}
	for _, p := range protect {
		p = path.Clean(p)
		if !filepath.IsLocal(filepath.FromSlash(p)) || p == "." {
			return nil, nil, fmt.Errorf("%w: workspace.protect: %q is not a path below the workspace", ErrConfig, p)
		}
		way := workspace.Steps(p)
		for i, step := range way {
			last := i == len(way)-1
			kind := w.Paths[step]
			if kind == "" {
				kind = workspace.Missing // its parent is
			}
			cover, covered := covers[step]
			switch {
			case kind == workspace.Symlink || kind == workspace.Special:
				err := fmt.Errorf("%w: %s in the workspace is a %s", ErrRefused, step, map[workspace.Kind]string{workspace.Symlink: "symbolic link", workspace.Special: "device, socket or pipe"}[kind])
				return nil, nil, diag.WithHint(err, "it lies on the protected path %s, and the engine would follow it on this machine: replace it with a plain file or folder", p)
			case last && covered:
				if kind == workspace.Missing {
					hold(step, workspace.Folder, "", false)
				}
				mounts[step] = cover
			case last && kind == workspace.Missing:
				kind, text := workspace.StandIn(p)
				hold(step, kind, text, false)
				bind(step, true)
			case last:
				bind(step, true)
			case kind == workspace.File:
				// A .git file, as in a worktree or submodule, says where the
				// repository is: it is what must not change.
				bind(step, true)
			case kind == workspace.Missing:
				hold(step, workspace.Folder, "", true)
				bind(step, false)
			default:
				bind(step, false)
			}
			if kind == workspace.File {
				break
			}
		}
	}
	for _, socket := range w.Sockets {
		// Not read-only: its program may end and take it away, and sbx-init in
		// the agent's container ends everything when a read-only mount goes.
		mounts[socket] = engine.Mount{Source: os.DevNull, Target: path.Join(workspaceTarget, socket)}
	}
	out := outside
	for _, m := range mounts {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b engine.Mount) int { return strings.Compare(a.Target, b.Target) })
	var held []workspace.Placeholder
	for _, p := range placeholders {
		held = append(held, p)
	}
	slices.SortFunc(held, func(a, b workspace.Placeholder) int { return strings.Compare(a.Path, b.Path) })
	return out, held, nil
}

// hostMount resolves a mount of the settings: "~/" is the user's home, a
// relative path is relative to the settings file. A folder that holds an
// engine's socket is refused whoever asks for it.
func hostMount(w *workspace.Workspace, m settings.Mount) (engine.Mount, error) {
	source := filepath.FromSlash(m.Host)
	if rest, ok := strings.CutPrefix(m.Host, "~/"); ok {
		source = filepath.Join(w.Home, filepath.FromSlash(rest))
	} else if !filepath.IsAbs(source) {
		source = filepath.Join(w.Dir, ".devcontainer", source)
	}
	source = filepath.Clean(source)
	if real, err := filepath.EvalSymlinks(source); err == nil { // as the engine will
		source = real
	}
	if err := shownTwice(w, m, source); err != nil {
		return engine.Mount{}, err
	}
	for _, socket := range workspace.EngineSockets() {
		if rel, err := filepath.Rel(source, filepath.FromSlash(socket)); err == nil && filepath.IsLocal(rel) || strings.HasSuffix(source, ".sock") {
			err := fmt.Errorf("%w: the mount of %s would give the agent the container engine, and with it this machine", ErrRefused, m.Host)
			return engine.Mount{}, diag.WithHint(err, "mount the folder that the agent needs, not one that holds a socket")
		}
	}
	return engine.Mount{Source: source, Target: m.Container, ReadOnly: m.ReadOnly}, nil
}

// shownTwice refuses a mount by which the agent could write to what is protected
// in the project.
func shownTwice(w *workspace.Workspace, m settings.Mount, source string) error {
	if m.ReadOnly {
		return nil
	}
	for _, p := range append(slices.Clone(w.Protect), w.Git.Paths()...) {
		protected := filepath.Join(w.Dir, filepath.FromSlash(p))
		if !workspace.Below(source, protected) && !workspace.Below(protected, source) {
			continue
		}
		err := fmt.Errorf("%w: the mount of %s would show %s of the project to the agent once more, where it could be written to", ErrRefused, m.Host, p)
		return diag.WithHint(err, "mount it read-only, or a folder next to the project")
	}
	return nil
}
