package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// makePlaceholders creates what is missing and returns a function that removes
// what it created again, as far as it is still empty. Shared folders are given
// to the agent's user where we may.
func makePlaceholders(list []Placeholder, uid, gid int) (remove func(), err error) {
	var made []Placeholder
	remove = func() {
		for _, p := range slices.Backward(made) {
			if p.Kind == File {
				if text, err := os.ReadFile(p.Path); err != nil || string(text) != p.Text {
					continue // somebody on the host has use for it now
				}
			}
			_ = os.Remove(p.Path) // a folder that holds something stays
		}
	}
	for _, p := range list {
		if p.Kind == Folder {
			err = os.Mkdir(p.Path, 0o755)
		} else {
			err = writeNew(p.Path, p.Text)
		}
		if errors.Is(err, fs.ErrExist) {
			// Another run, or the user, was faster. The mount covers it all the
			// same, unless it is something that the engine would follow.
			if kind, err := kindOf(p.Path); err != nil || (kind != Folder && kind != File) {
				remove()
				return nil, fmt.Errorf("%w: %s became a %s while the run started", ErrRefused, p.Path, kind)
			}
			continue
		}
		if err != nil {
			remove()
			return nil, fmt.Errorf("%w: making a mount point: %w", ErrNoStart, err)
		}
		made = append(made, p)
		if p.Shared && os.Geteuid() == 0 {
			if err := os.Lchown(p.Path, uid, gid); err != nil {
				remove()
				return nil, fmt.Errorf("%w: making a mount point: %w", ErrNoStart, err)
			}
		}
	}
	return remove, nil
}

func writeNew(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
