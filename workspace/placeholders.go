package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Placeholder is an empty file or folder that a run puts where a protected
// path is missing, so that something can be mounted over it and the agent
// cannot create it. It is removed after the run unless it holds something.
type Placeholder struct {
	Path string `json:"path"` // on the host
	Kind Kind   `json:"kind"` // Folder or File
	Text string `json:"text,omitempty"`
	// Shared says that the agent may write in it: a parent of what is protected.
	Shared bool `json:"shared,omitempty"`
}

// StandIn says what is put where a protected path is missing.
func StandIn(p string) (kind Kind, text string) {
	if text, isFile := obeyed.StandIn(p); isFile {
		return File, text
	}
	return Folder, ""
}

// Placed is what a run has put into a project as places for mounts. The
// paths are relative to the project's folder.
type Placed struct {
	root *os.Root
	made []Placeholder
}

// Place creates what is missing below dir. Shared folders are given
// to the agent's user where we may.
//
// Everything goes through one open folder: a program that the agent left
// running elsewhere may swap a folder for a symbolic link at any moment, and
// nothing may be made, given away or removed behind one.
func Place(dir string, list []Placeholder, uid, gid int) (*Placed, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("making a mount point: %w", err)
	}
	h := &Placed{root: root}
	for _, p := range list {
		if p.Path, err = filepath.Rel(dir, p.Path); err == nil {
			err = makePlaceholder(root, p, uid, gid)
		}
		switch {
		case errors.Is(err, fs.ErrExist):
			// Another run, or the user, was faster. The file there is looked at
			// when all mounts are.
		case err != nil:
			h.Remove()
			return nil, fmt.Errorf("making a mount point: %w", err)
		default:
			h.made = append(h.made, p)
		}
	}
	return h, nil
}

// Remove takes them away again, as far as they are still empty, and returns how many
// it could.
func (h *Placed) Remove() (removed int) {
	defer h.root.Close()
	for _, p := range slices.Backward(h.made) {
		if p.Kind == File {
			if text, err := filekind.ReadIn(h.root, p.Path, int64(len(p.Text))); err != nil || string(text) != p.Text {
				continue // somebody on the host has use for it now
			}
		}
		if h.root.Remove(p.Path) == nil { // a folder that holds something stays
			removed++
		}
	}
	return removed
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

// Made lists what was made, relative to the project's folder.
func (h *Placed) Made() []Placeholder { return h.made }

// TakeBack removes what a dead run has put into folder and returns how many of it
// were still there. A folder that is another one now keeps them.
func TakeBack(folder string, made []Placeholder) int {
	if real, err := filepath.EvalSymlinks(folder); err != nil || real != folder {
		return 0
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return 0
	}
	h := &Placed{root: root, made: made}
	return h.Remove()
}
