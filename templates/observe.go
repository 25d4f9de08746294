package templates

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Observation is what Observe learnt, beyond the facts for Adapt.
type Observation struct {
	Facts Facts
	// NoHooks is set when the repository has no .git/hooks, which must exist
	// to be protected; EnsureFolders makes it.
	NoHooks bool
	// NoFolders lists what Facts.Covered covers and is not there. The engine
	// would make the mount points as root; EnsureFolders makes them the user's.
	NoFolders []string
	// GitFile is set in a linked worktree and a submodule, whose .git is a file
	// that names a repository elsewhere. It cannot be cloned from inside.
	GitFile bool
	// Notes are sentences for the user about what cannot be protected.
	Notes []string
}

// Observe looks at the project folder dir, as it will be without the paths gone. It changes nothing.
func Observe(dir string, gone ...string) (Observation, error) {
	var o Observation
	for _, p := range obeyed.HostPaths() {
		if p == ".devcontainer" || strings.HasPrefix(p, ".git/") {
			continue // in the template itself, and below
		}
		info, err := os.Lstat(filepath.Join(dir, p))
		switch {
		case errors.Is(err, fs.ErrNotExist), slices.Contains(gone, p):
			o.Facts.Covered = append(o.Facts.Covered, p)
			o.NoFolders = append(o.NoFolders, p)
		case err != nil:
			return o, err
		case info.Mode()&fs.ModeSymlink != 0:
			o.note("%s is a symbolic link and stays writable for the agent; make it a folder to have it protected", p)
		case info.IsDir() && isEmpty(filepath.Join(dir, p)):
			// Git does not keep it, so another clone has none to mount.
			o.Facts.Covered = append(o.Facts.Covered, p)
		default:
			o.Facts.ReadOnly = append(o.Facts.ReadOnly, p)
		}
	}
	if full, err := filepath.Abs(dir); err == nil && strings.ContainsAny(full, `,"`) { // which end a part of docker's --mount
		o.note("the path of this folder has a comma or a quote, and no dev container starts there; 'sbx-devc run' works")
	}
	return o, o.git(dir)
}

func (o *Observation) note(format string, args ...any) {
	o.Notes = append(o.Notes, fmt.Sprintf(format, args...))
}

// git decides how the repository's own files are protected.
func (o *Observation) git(dir string) error {
	info, err := os.Lstat(filepath.Join(dir, ".git"))
	if errors.Is(err, fs.ErrNotExist) {
		full, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		if above := workspace.RepositoryOf(full); above != "" {
			o.note("this is a part of the repository %s, which stays outside: git does not work inside; 'sbx-devc init %s' is for all of it",
				above, above)
			return nil
		}
		o.note("no git repository here; after git init, 'sbx-devc update --rescan' protects its hooks and configuration")
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		o.note(".git is not a folder (a linked worktree or a submodule): git will not work inside, because the repository itself stays outside")
		if info.Mode().IsRegular() {
			// A writer of it chooses which configuration git on the host obeys.
			o.Facts.ReadOnly, o.GitFile = append(o.Facts.ReadOnly, ".git"), true
		}
		return nil
	}
	o.Facts.Pinned = append(o.Facts.Pinned, ".git")
	for _, name := range []string{"hooks", "config"} {
		info, err := os.Lstat(filepath.Join(dir, ".git", name))
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == "hooks":
			o.NoHooks = true
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf(".git/%s is a symbolic link and cannot be protected", name)
		}
		o.Facts.ReadOnly = append(o.Facts.ReadOnly, ".git/"+name)
	}
	// The others exist seldom. A missing file cannot be mounted in every clone,
	// and an empty commondir, as an engine would make it, stops git.
	for _, name := range []string{"config.worktree", "commondir"} {
		if info, err := os.Lstat(filepath.Join(dir, ".git", name)); err == nil && info.Mode().IsRegular() {
			o.Facts.ReadOnly = append(o.Facts.ReadOnly, ".git/"+name)
		}
	}
	return nil
}

func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

// EnsureFolders makes the empty folders that mounts need: .git/hooks, as git
// init makes it, where it is missing, and what is covered and is not there. It
// makes all or, with an error, none; undo takes them away again as long as they
// are empty. One that exists by now is no error, and stays.
func (o *Observation) EnsureFolders(dir string) (undo func(), err error) {
	var made []string
	undo = func() {
		for _, p := range slices.Backward(made) {
			_ = os.Remove(p) // what is in it by now is somebody's
		}
	}
	folders := slices.Clone(o.NoFolders)
	if o.NoHooks {
		folders = append(folders, ".git/hooks")
	}
	for _, p := range folders {
		p = filepath.Join(dir, filepath.FromSlash(p))
		switch err := os.Mkdir(p, 0o755); {
		case err == nil:
			made = append(made, p)
		case !errors.Is(err, fs.ErrExist):
			undo()
			return nil, err
		}
	}
	return undo, nil
}
