//go:build unix

package copytree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Bounds of Remove: folders that are open at a time, and causes that it names.
const (
	maxOpen   = 200
	maxCauses = 3
)

// Remove removes a tree that an agent filled, with folders that it has closed to their
// owner or nested beyond the length of a path. It follows no link and enters no mount. It
// errs when ctx ends, and when something stays, with the first causes; a tree that is not
// there is no error.
func Remove(ctx context.Context, tree string) error {
	parent, err := unix.Open(filepath.Dir(tree), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &fs.PathError{Op: "removing", Path: tree, Err: err}
	}
	defer unix.Close(parent)
	r := &remover{ctx: ctx}
	r.entry(parent, filepath.Base(tree))
	if ctx.Err() != nil {
		return fmt.Errorf("removing %s: %w; the rest of it stays", tree, context.Cause(ctx))
	}
	if len(r.causes) > 0 {
		return fmt.Errorf("removing %s: %w", tree, errors.Join(r.causes...))
	}
	return nil
}

type remover struct {
	ctx    context.Context
	open   []int // the folders from the tree's own on
	moved  int   // folders that were too deep
	causes []error
}

// entry removes what a folder has under a name, and reports whether it is gone.
func (r *remover) entry(folder int, name string) bool {
	err := unix.Unlinkat(folder, name, 0)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err == nil
	}
	var stat unix.Stat_t
	if statErr := unix.Fstatat(folder, name, &stat, unix.AT_SYMLINK_NOFOLLOW); statErr != nil || stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return r.fail(name, err)
	}
	if len(r.open) >= maxOpen { // a path of any depth must not take as many open folders
		r.moved++
		if err := unix.Renameat(folder, name, r.open[0], fmt.Sprintf(".deep-%d-%d", os.Getpid(), r.moved)); err != nil {
			return r.fail(name, err)
		}
		return true
	}
	dir, err := openBelow(folder, name)
	if err != nil {
		return r.fail(name, err)
	}
	file := os.NewFile(uintptr(dir), name)
	defer file.Close()
	r.open = append(r.open, dir)
	r.empty(file)
	r.open = r.open[:len(r.open)-1]
	if err := unix.Unlinkat(folder, name, unix.AT_REMOVEDIR); err != nil {
		return r.fail(name, err)
	}
	return true
}

// empty removes what a folder holds. It reads it anew until it removes nothing more.
func (r *remover) empty(folder *os.File) {
	for progress := true; progress && r.ctx.Err() == nil; {
		progress = false
		if _, err := folder.Seek(0, 0); err != nil {
			r.fail(folder.Name(), err)
			return
		}
		for r.ctx.Err() == nil {
			names, _ := folder.Readdirnames(1000) // of one that cannot be read, what stays is told
			if len(names) == 0 {
				break
			}
			for _, name := range names {
				if r.ctx.Err() != nil {
					return
				}
				progress = r.entry(int(folder.Fd()), name) || progress
			}
		}
	}
}

func (r *remover) fail(name string, err error) bool {
	if len(r.causes) < maxCauses && r.ctx.Err() == nil {
		r.causes = append(r.causes, &fs.PathError{Op: "removing", Path: name, Err: err})
	}
	return false
}

// sameDevice closes fd unless it is on the file system of folder.
func sameDevice(folder, fd int) error {
	var above, here unix.Stat_t
	err := errors.Join(unix.Fstat(folder, &above), unix.Fstat(fd, &here))
	if err == nil && above.Dev != here.Dev {
		err = unix.EXDEV
	}
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	return nil
}
