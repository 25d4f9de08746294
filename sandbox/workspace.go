package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/settings"
)

// workspaceTarget is where the agent sees the project.
const workspaceTarget = "/workspace"

// Kind is what a path on the host is.
type Kind string

// The kinds. Symlink wins over what it points to.
const (
	Missing Kind = "missing"
	Folder  Kind = "folder"
	File    Kind = "file"
	Symlink Kind = "symlink"
	Special Kind = "special" // socket, device, pipe
)

// Workspace is what NewPlan must know of the project's folder. It is read from
// the disk by Inspect; nothing follows a symbolic link below Dir.
type Workspace struct {
	Dir      string          // absolute, without symbolic links
	Home     string          // the user's home, alike; "" when unknown
	UID, GID int             // owner of Dir; -1 where files have no owner (Windows)
	Writable bool            // the agent's user may write Dir by owner or by mode
	Paths    map[string]Kind // every protected path and each of its parents, relative to Dir, slash-separated
	Protect  []string        // what is protected whatever the settings say, alike
	Notes    []string        // sentences for the user about what cannot be protected

	before repositories // what git would find before the agent worked here
}

// Inspect looks at a project's folder: who owns it and what is at the paths
// that a run protects (the built-in ones, what git obeys in it, and more). A folder that is not there
// wraps ErrInput.
func Inspect(dir string, more []string) (*Workspace, error) {
	named := dir
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.WithHint(fmt.Errorf("%w: the folder %s does not exist", ErrInput, named), "name the project's folder: sbx-devc run DIR --print")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if !info.IsDir() {
		return nil, diag.WithHint(fmt.Errorf("%w: %s is no folder", ErrInput, dir), "name the project's folder: sbx-devc run DIR --print")
	}
	w := &Workspace{Dir: dir, Paths: map[string]Kind{}}
	if home, err := os.UserHomeDir(); err == nil {
		if w.Home, err = filepath.EvalSymlinks(home); err != nil {
			w.Home = home
		}
	}
	w.UID, w.GID = owner(info)
	w.Writable = w.UID > 0 || w.UID < 0 || info.Mode().Perm()&0o002 != 0
	w.before = findRepositories(dir)
	found, notes := gitProtection(dir, w.before)
	w.Protect, w.Notes = union(settings.HostPaths(), found), notes
	w.Protect = union(w.Protect, linkTargets(dir, w.Protect))
	for _, p := range append(slices.Clone(w.Protect), more...) {
		for _, step := range steps(p) {
			kind, err := kindOf(filepath.Join(dir, filepath.FromSlash(step)))
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrInput, err)
			}
			w.Paths[step] = kind
			if kind != Folder {
				break // nothing below it, or nothing that we would follow
			}
		}
	}
	return w, nil
}

// linkTargets lists what the symbolic links in protected folders point to
// within the workspace: a hook is often a link to a script of the project.
func linkTargets(dir string, protect []string) (targets []string) {
	for _, p := range protect {
		folder := filepath.Join(dir, filepath.FromSlash(p))
		if kind, err := kindOf(folder); err != nil || kind != Folder {
			continue
		}
		entries, _ := os.ReadDir(folder) // one that cannot be read is no better known to the host
		for _, e := range entries {
			if e.Type()&fs.ModeSymlink == 0 {
				continue
			}
			target, err := filepath.EvalSymlinks(filepath.Join(folder, e.Name()))
			if err != nil {
				continue
			}
			if rel, err := filepath.Rel(dir, target); err == nil && rel != "." && filepath.IsLocal(rel) {
				targets = append(targets, filepath.ToSlash(rel))
			}
		}
	}
	return targets
}

// steps lists a relative path's prefixes: "a/b/c" gives a, a/b, a/b/c.
func steps(p string) []string {
	p = path.Clean(p)
	var out []string
	for i, c := range p {
		if c == '/' {
			out = append(out, p[:i])
		}
	}
	return append(out, p)
}

func kindOf(file string) (Kind, error) {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Missing, nil
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink != 0:
		return Symlink, nil
	case info.IsDir():
		return Folder, nil
	case info.Mode().IsRegular():
		return File, nil
	}
	return Special, nil
}

// refuseFolder refuses the folders that are more than a project.
func (w *Workspace) refuseFolder() error {
	below := func(parent, child string) bool {
		rel, err := filepath.Rel(parent, child)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	}
	var why string
	switch {
	case w.Dir == filepath.VolumeName(w.Dir)+string(filepath.Separator):
		why = "it is the whole machine"
	case w.Home != "" && below(w.Dir, w.Home):
		why = "it holds your home folder with its keys"
	case slices.ContainsFunc(engineSockets, func(socket string) bool { return below(w.Dir, filepath.FromSlash(socket)) }):
		why = "it holds the container engine's socket"
	default:
		return nil
	}
	return diag.WithHint(fmt.Errorf("%w: the agent may not work in %s: %s", ErrRefused, w.Dir, why), "name the project's own folder: sbx-devc run DIR --print")
}
