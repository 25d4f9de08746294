package decision

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/sparsefile"
	"github.com/org/claude-sandbox/sandbox/changes"
)

// Files of the project, read and written over no link.

func sumOfFile(root *os.Root, rel string) (string, error) {
	f, err := openRegular(root, rel)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// openRegular opens a regular file below folders that are no links.
func openRegular(root *os.Root, rel string) (*os.File, error) {
	if err := noLinks(root, path.Dir(rel)); err != nil {
		return nil, err
	}
	info, err := root.Lstat(filepath.FromSlash(rel))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	return filekind.OpenIn(root, rel)
}

// noLinks errs when a folder on the way is none: nothing is written behind a link.
func noLinks(root *os.Root, dir string) error {
	for at := dir; at != "."; at = path.Dir(at) {
		info, err := root.Lstat(filepath.FromSlash(at))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is no folder", at)
		}
	}
	return nil
}

// do writes one path, if it holds what it must.
func (s *settler) do(st *step) error {
	if err := noLinks(s.project, path.Dir(st.path)); err != nil {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	if err := s.holds(st.path, st.have); err != nil {
		if s.cloned && errors.Is(err, ErrChanged) {
			return ErrUncommitted
		}
		return err
	}
	name := filepath.FromSlash(st.path)
	want := st.want.state
	if want == nil {
		return s.project.Remove(name)
	}
	if err := s.makeFolders(filepath.Dir(name)); err != nil {
		return err
	}
	uid, gid := s.owner(name)
	if was := st.have.state; was != nil && (was.What == changes.Folder) != (want.What == changes.Folder) {
		if err := s.project.Remove(name); err != nil { // an empty folder, or what stands in a folder's place
			return err
		}
	}
	switch want.What {
	case changes.Folder:
		if err := s.makeFolder(name, uid, gid); err != nil {
			return err
		}
		return s.project.Chmod(name, permissions(want))
	case changes.Symlink:
		return s.replace(st, func(temporary string) error { return s.link(want.Target, temporary, uid, gid) })
	case changes.File:
		return s.replace(st, func(temporary string) error { return s.write(st, temporary, uid, gid) })
	}
	return errors.New("it is a socket, a pipe or a device, and is not made")
}

// permissions are those of a state, without setuid, setgid and sticky: a decision
// gives no such rights.
func permissions(state *changes.State) fs.FileMode { return fs.FileMode(state.Mode & 0o777) }

// replace makes something next to the path and puts it in its place.
func (s *settler) replace(st *step, make func(temporary string) error) error {
	name := filepath.FromSlash(st.path)
	temporary := filepath.Join(filepath.Dir(name), ".sbx-"+rand.Text())
	err := make(temporary)
	if err == nil {
		if st.have.state == nil || st.have.state.What != changes.Folder && st.want.state.What != changes.Folder {
			err = s.holds(st.path, st.have) // once more: making it took a while
		}
	}
	if err == nil {
		err = s.project.Rename(temporary, name)
	}
	if err != nil {
		_ = s.project.Remove(temporary)
	}
	return err
}

// write writes the file that a path shall hold.
func (s *settler) write(st *step, temporary string, uid, gid int) (err error) {
	f, err := s.project.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if st.want.content != nil {
		if _, err = f.Write(st.want.content); err != nil {
			return err
		}
	} else {
		from, err := openRegular(s.tree, st.path)
		if err != nil {
			return err
		}
		defer from.Close()
		if err := copyResult(f, from, st.want.sum); err != nil {
			return err
		}
	}
	if uid >= 0 {
		if err := f.Chown(uid, gid); err != nil {
			return err
		}
	}
	return f.Chmod(permissions(st.want.state))
}

// copyResult copies a file as the run left it, with its holes where it is too large to have
// a sum. sum is its SHA-256, "" = none.
func copyResult(to, from *os.File, sum string) error {
	if sum == "" {
		_, err := sparsefile.Copy(to, from, math.MaxInt64-1)
		return err
	}
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, h), from); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != sum {
		return ErrChanged
	}
	return nil
}

// holds errs with ErrChanged when a path does not hold what it should.
func (s *settler) holds(rel string, have thing) error {
	info, err := s.project.Lstat(filepath.FromSlash(rel))
	if errors.Is(err, fs.ErrNotExist) && have.state == nil {
		return nil
	}
	if err != nil || have.state == nil {
		return ErrChanged
	}
	switch have.state.What {
	case changes.Folder:
		if !info.IsDir() {
			return ErrChanged
		}
		return nil
	case changes.Symlink:
		if target, err := s.project.Readlink(filepath.FromSlash(rel)); err != nil || target != have.state.Target {
			return ErrChanged
		}
		return nil
	case changes.File:
		return s.holdsFile(rel, info, have)
	}
	if info.Mode().IsRegular() || info.IsDir() || info.Mode()&fs.ModeSymlink != 0 {
		return ErrChanged
	}
	return nil
}

func (s *settler) holdsFile(rel string, info fs.FileInfo, have thing) error {
	if !info.Mode().IsRegular() || info.Size() != have.state.Size {
		return ErrChanged
	}
	if have.content == nil && have.sum == "" {
		if !s.inPlace {
			return ErrNotKept
		}
		if have.when == 0 || changes.ChangedAt(info) != have.when {
			return ErrChanged
		}
		return nil
	}
	sum := have.sum
	if have.content != nil {
		sum = sumOf(have.content)
	}
	if now, err := sumOfFile(s.project, rel); err != nil || now != sum {
		return ErrChanged
	}
	return nil
}
