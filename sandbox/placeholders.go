package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// placeholders are what a run has put into a project as places for mounts. The
// paths are relative to the project's folder.
type placeholders struct {
	root *os.Root
	made []Placeholder
}

// makePlaceholders creates what is missing below dir. Shared folders are given
// to the agent's user where we may.
//
// Everything goes through one open folder: a program that the agent left
// running elsewhere may swap a folder for a symbolic link at any moment, and
// nothing may be made, given away or removed behind one.
func makePlaceholders(dir string, list []Placeholder, uid, gid int) (*placeholders, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: making a mount point: %w", ErrNoStart, err)
	}
	h := &placeholders{root: root}
	for _, p := range list {
		if p.Path, err = filepath.Rel(dir, p.Path); err == nil {
			err = makePlaceholder(root, p, uid, gid)
		}
		switch {
		case errors.Is(err, fs.ErrExist):
			// Another run, or the user, was faster. What is there is looked at
			// when all mounts are.
		case err != nil:
			h.remove()
			return nil, fmt.Errorf("%w: making a mount point: %w", ErrNoStart, err)
		default:
			h.made = append(h.made, p)
		}
	}
	return h, nil
}

// remove removes them again, as far as they are still empty, and returns how many
// it could.
func (h *placeholders) remove() (removed int) {
	defer h.root.Close()
	for _, p := range slices.Backward(h.made) {
		if p.Kind == File {
			if text, err := h.root.ReadFile(p.Path); err != nil || string(text) != p.Text {
				continue // somebody on the host has use for it now
			}
		}
		if h.root.Remove(p.Path) == nil { // a folder that holds something stays
			removed++
		}
	}
	return removed
}

// label is what another run in the same folder reads: the last one to end
// removes what all have made.
func (h *placeholders) label() string {
	text, _ := json.Marshal(h.made) // of strings and bools alone
	return string(text)
}

// adopt takes over what another run's label lists.
func (h *placeholders) adopt(label string) {
	var others []Placeholder
	if json.Unmarshal([]byte(label), &others) != nil {
		return // of another version; they stay, as they would have
	}
	for _, p := range others {
		if !slices.ContainsFunc(h.made, func(m Placeholder) bool { return m.Path == p.Path }) {
			h.made = append(h.made, p)
		}
	}
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
