package decision

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/workspace"
)

// owner is who shall own what is made at name: the owner of what is there, or else of its
// folder. It is -1 for who makes it: only root gives files away.
func (s *settler) owner(name string) (uid, gid int) {
	if os.Geteuid() != 0 {
		return -1, -1
	}
	for {
		info, err := s.project.Lstat(name)
		if err == nil {
			return workspace.Owner(info)
		}
		if name == "." {
			return -1, -1
		}
		name = filepath.Dir(name)
	}
}

// makeFolders makes a folder with those above it.
func (s *settler) makeFolders(name string) error {
	if name == "." {
		return nil
	}
	if err := s.makeFolders(filepath.Dir(name)); err != nil {
		return err
	}
	uid, gid := s.owner(name)
	return s.makeFolder(name, uid, gid)
}

// makeFolder makes a folder for its owner, if there is none.
func (s *settler) makeFolder(name string, uid, gid int) error {
	err := s.project.Mkdir(name, 0o777)
	if errors.Is(err, fs.ErrExist) {
		if info, err := s.project.Lstat(name); err != nil || !info.IsDir() {
			return ErrChanged
		}
		return nil
	}
	if err != nil || uid < 0 {
		return err
	}
	return s.project.Lchown(name, uid, gid)
}

// link makes a symbolic link for its owner.
func (s *settler) link(target, name string, uid, gid int) error {
	if err := s.project.Symlink(target, name); err != nil || uid < 0 {
		return err
	}
	return s.project.Lchown(name, uid, gid)
}
