package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// makePlaceholders creates what is missing below dir and returns a function
// that removes what it created again, as far as it is still empty. Shared
// folders are given to the agent's user where we may.
//
// Everything goes through one open folder: a program that the agent left
// running elsewhere may swap a folder for a symbolic link at any moment, and
// nothing may be made, given away or removed behind one.
func makePlaceholders(dir string, list []Placeholder, uid, gid int) (remove func(), err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: making a mount point: %w", ErrNoStart, err)
	}
	var made []Placeholder
	remove = func() {
		defer root.Close()
		for _, p := range slices.Backward(made) {
			if p.Kind == File {
				if text, err := root.ReadFile(p.Path); err != nil || string(text) != p.Text {
					continue // somebody on the host has use for it now
				}
			}
			_ = root.Remove(p.Path) // a folder that holds something stays
		}
	}
	for _, p := range list {
		if p.Path, err = filepath.Rel(dir, p.Path); err == nil {
			err = makePlaceholder(root, p, uid, gid)
		}
		switch {
		case errors.Is(err, fs.ErrExist):
			// Another run, or the user, was faster. What is there is looked at
			// when all mounts are.
		case err != nil:
			remove()
			return nil, fmt.Errorf("%w: making a mount point: %w", ErrNoStart, err)
		default:
			made = append(made, p)
		}
	}
	return remove, nil
}

func makePlaceholder(root *os.Root, p Placeholder, uid, gid int) error {
	if p.Kind == File {
		f, err := root.OpenFile(p.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.WriteString(p.Text)
		return errors.Join(err, f.Close())
	}
	if err := root.Mkdir(p.Path, 0o755); err != nil {
		return err
	}
	if p.Shared && os.Geteuid() == 0 {
		return root.Lchown(p.Path, uid, gid)
	}
	return nil
}
