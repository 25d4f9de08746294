package templates

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// hostPaths act on the host: editors run tasks, git runs hooks and what its
// configuration names, Claude Code runs hooks of the project's settings.
var hostPaths = []string{".vscode", ".idea", ".claude", ".husky"}

// Observation is what Observe learnt, beyond the facts for Adapt.
type Observation struct {
	Facts Facts
	// NoHooks is set when the repository has no .git/hooks, which must exist
	// to be protected; EnsureHooks makes it.
	NoHooks bool
	// Notes are sentences for the user about what cannot be protected.
	Notes []string
}

// Observe looks at the project folder dir. It changes nothing.
func Observe(dir string) (Observation, error) {
	var o Observation
	for _, p := range hostPaths {
		info, err := os.Lstat(filepath.Join(dir, p))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return o, err
		case info.Mode()&fs.ModeSymlink != 0:
			o.note("%s is a symbolic link and stays writable for the agent; make it a folder to have it protected", p)
		default:
			o.Facts.ReadOnly = append(o.Facts.ReadOnly, p)
		}
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
		o.note("no git repository here; run init again with --force after git init, so that its hooks and configuration are protected")
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		o.note(".git is not a folder (a linked worktree or a submodule): git will not work inside, because the repository itself stays outside")
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
	return nil
}

// EnsureHooks makes the empty .git/hooks that the mount needs.
func EnsureHooks(dir string) error { return os.Mkdir(filepath.Join(dir, ".git", "hooks"), 0o755) }
