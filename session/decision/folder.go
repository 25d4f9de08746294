package decision

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/sparsefile"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/session/review"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// folderStep is a new folder whose very many files stand as one change: it is taken or
// removed whole.
type folderStep struct {
	path   string
	files  int             // in it
	remove bool            // else it is taken from the tree
	apart  map[string]bool // paths in it that are changes of their own
}

// planFolder says what must happen to a folder that stands for its files; nil for
// nothing. A repository's own folder, and one that was there before, is not for it.
func (s *settler) planFolder(f *review.File, files []review.File) (*folderStep, error) {
	c := f.Change
	stay := s.decided.stays(f.Hunks[0].ID)
	if stay == s.inPlace {
		return nil, nil
	}
	if c.Kind != changes.Added || slices.ContainsFunc(strings.Split(f.Path, "/"), isGit) {
		return nil, ErrMany
	}
	st := &folderStep{path: f.Path, files: c.Files, remove: s.inPlace, apart: map[string]bool{}}
	for i := range files {
		if other := &files[i]; strings.HasPrefix(other.Path, f.Path+"/") {
			if st.remove && slices.ContainsFunc(other.Hunks, func(h review.Hunk) bool { return s.decided.stays(h.ID) }) {
				return nil, fmt.Errorf("%s in it is accepted; %w", other.Path, ErrMany)
			}
			st.apart[other.Path] = true
		}
	}
	return st, nil
}

func isGit(name string) bool { return obeyed.IsGitName(obeyed.Folded(name)) }

// doFolder takes or removes a folder.
func (s *settler) doFolder(st *folderStep) error {
	if err := noLinks(s.project, path.Dir(st.path)); err != nil {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	if st.remove {
		return s.removeFolder(st)
	}
	info, err := s.project.Lstat(filepath.FromSlash(st.path))
	if err == nil && !info.IsDir() || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ErrChanged
	}
	if err := s.makeFolders(filepath.Dir(filepath.FromSlash(st.path))); err != nil {
		return err
	}
	return s.copyFolder(st)
}

// isFolderDone reports whether a folder that goes is gone. One that is taken is taken
// again: files that are there already stay.
func (s *settler) isFolderDone(st *folderStep) bool {
	_, err := s.project.Lstat(filepath.FromSlash(st.path))
	return st.remove && errors.Is(err, fs.ErrNotExist)
}

// maxCompared bounds files that are compared, in bytes: one with holes may say any size.
const maxCompared = 1 << 30

// isSame reports whether the project holds a file or a link of the tree already.
func (s *settler) isSame(rel string) bool {
	if target, err := s.tree.Readlink(filepath.FromSlash(rel)); err == nil {
		there, err := s.project.Readlink(filepath.FromSlash(rel))
		return err == nil && there == target
	}
	was, err := s.tree.Lstat(filepath.FromSlash(rel))
	now, errNow := s.project.Lstat(filepath.FromSlash(rel))
	if err != nil || errNow != nil || was.Size() != now.Size() || was.Size() > maxCompared {
		return false
	}
	sum, err := sumOfFile(s.tree, rel)
	there, errThere := sumOfFile(s.project, rel)
	return err == nil && errThere == nil && sum == there
}

// removeFolder removes a folder in which nothing is newer than the run.
func (s *settler) removeFolder(st *folderStep) error {
	files := 0
	err := fs.WalkDir(s.project.FS(), st.path, func(rel string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !d.IsDir() {
			files++
			if changes.ChangedAt(info) > s.ended {
				return fmt.Errorf("%s: %w", rel, ErrChanged)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case files > st.files || s.ended == 0:
		return ErrChanged
	}
	return s.project.RemoveAll(filepath.FromSlash(st.path))
}

// copyFolder copies a folder of the tree, without what is a change of its own, without
// repositories, links that lead out of it aside, and never over a file that is there.
func (s *settler) copyFolder(st *folderStep) error {
	return fs.WalkDir(s.tree.FS(), st.path, func(rel string, d fs.DirEntry, err error) error {
		name := filepath.FromSlash(rel)
		switch {
		case err != nil:
			return err
		case st.apart[rel] && !d.IsDir():
			return nil
		case isGit(d.Name()) && d.IsDir():
			return fs.SkipDir
		case isGit(d.Name()):
			return nil
		case d.IsDir():
			uid, gid := s.owner(name)
			return s.makeFolder(name, uid, gid)
		}
		if _, err := s.project.Lstat(name); err == nil {
			if s.isSame(rel) {
				return nil
			}
			return fmt.Errorf("%s: %w", rel, ErrChanged)
		}
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := s.tree.Readlink(name)
			if err != nil {
				return err
			}
			slashed := filepath.ToSlash(target)
			if to := path.Join(path.Dir(rel), slashed); path.IsAbs(slashed) || !strings.HasPrefix(to+"/", st.path+"/") {
				return nil
			}
			if strings.TrimSuffix(slashed, "/") != path.Clean(slashed) { // ".." behind another link leads elsewhere than it reads
				return nil
			}
			uid, gid := s.owner(name)
			return s.link(target, name, uid, gid)
		}
		return s.copyFile(rel)
	})
}

// copyFile copies one regular file; other things are left out.
func (s *settler) copyFile(rel string) (err error) {
	from, err := openRegular(s.tree, rel)
	if err != nil {
		return nil // a pipe, a socket or a device
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	uid, gid := s.owner(filepath.FromSlash(rel))
	to, err := s.project.OpenFile(filepath.FromSlash(rel), os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if _, err = sparsefile.Copy(to, from, math.MaxInt64-1); err != nil || uid < 0 {
		return err
	}
	return to.Chown(uid, gid)
}

// removeEmpty removes folders that the run made and that are empty now.
func (s *settler) removeEmpty(files []review.File) {
	for i := range files {
		c := files[i].Change
		for at := path.Dir(c.Path); c.Fresh != "" && strings.HasPrefix(at+"/", c.Fresh+"/"); at = path.Dir(at) {
			info, err := s.project.Lstat(filepath.FromSlash(at))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil || !info.IsDir() || noLinks(s.project, path.Dir(at)) != nil || s.project.Remove(filepath.FromSlash(at)) != nil {
				break // such as one that holds something
			}
		}
	}
}
