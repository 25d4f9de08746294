package copytree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/org/claude-sandbox/internal/sparsefile"
)

// Bounds of a copy. A project is copied for each run.
const (
	maxEntries = 500_000
	maxBytes   = 8 << 30
)

// ErrTooLarge reports a folder that is larger than a copy may be.
var ErrTooLarge = errors.New("the project is too large to be copied for a run")

// Options of Copy.
type Options struct {
	Empty    []string // folders that are made and not copied, slash-separated: the git directories
	UID, GID int      // the owner of the copy; -1 = whoever copies
}

// Copy copies the folder from into the folder to, which it makes, with permissions and
// times. Set-id bits are dropped, and sockets, pipes and devices are left out with a
// note, as is what cannot be read.
func Copy(ctx context.Context, from, to string, o Options) (notes []string, err error) {
	source, err := os.OpenRoot(from)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	if err := os.Mkdir(to, 0o755); err != nil {
		return nil, err
	}
	target, err := os.OpenRoot(to)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	c := &copier{ctx: ctx, from: source, to: target, o: o, entries: maxEntries, bytes: maxBytes}
	if err := c.own(".", nil); err != nil {
		return nil, err
	}
	if err := c.folder("."); err != nil {
		return nil, fmt.Errorf("copying %s: %w", from, err)
	}
	if c.left > 0 {
		notes = append(notes, fmt.Sprintf("%d sockets, pipes, devices and files that cannot be read are not in the copy, such as %s",
			c.left, c.such))
	}
	return notes, nil
}

type copier struct {
	ctx      context.Context
	from, to *os.Root
	o        Options
	entries  int
	bytes    int64
	left     int
	such     string // one that is left out
}

func (c *copier) folder(rel string) error {
	dir, err := c.from.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe may have come in its place
	if err != nil {
		c.leave(rel)
		return nil
	}
	entries, err := dir.ReadDir(c.entries + 1)
	dir.Close()
	if err != nil && err != io.EOF {
		return err
	}
	for _, e := range entries {
		if c.entries--; c.entries < 0 || c.bytes < 0 {
			return tooLarge()
		}
		if err := c.ctx.Err(); err != nil {
			return context.Cause(c.ctx)
		}
		if err := c.entry(path.Join(rel, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) entry(rel string) error {
	name := filepath.FromSlash(rel)
	info, err := c.from.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone meanwhile
	}
	if err != nil {
		c.leave(rel)
		return nil
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		if err := c.to.Mkdir(name, 0o700); err != nil {
			return err
		}
		if !slices.Contains(c.o.Empty, rel) {
			if err := c.folder(rel); err != nil {
				return err
			}
		}
	case mode&fs.ModeSymlink != 0:
		leads, err := c.from.Readlink(name)
		if err == nil {
			err = c.to.Symlink(leads, name)
		}
		if err != nil {
			return err
		}
	case mode.IsRegular():
		if err := c.file(name, info); err != nil {
			return err
		}
	default:
		c.leave(rel)
		return nil
	}
	return c.own(name, info)
}

// file copies a regular file, which must be the one that was looked at.
func (c *copier) file(name string, info fs.FileInfo) error {
	in, err := c.from.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		c.leave(name)
		return nil
	}
	defer in.Close()
	if now, err := in.Stat(); err != nil || !os.SameFile(now, info) {
		c.leave(name)
		return nil
	}
	out, err := c.to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := sparsefile.Copy(out, in, c.bytes)
	c.bytes -= n
	return errors.Join(err, out.Close())
}

// own gives a copied entry its owner, permissions and times. The top has no info.
func (c *copier) own(name string, info fs.FileInfo) error {
	if c.o.UID >= 0 {
		if err := c.to.Lchown(name, c.o.UID, c.o.GID); err != nil {
			return err
		}
	}
	if info == nil || info.Mode()&fs.ModeSymlink != 0 {
		return nil
	}
	mode := info.Mode().Perm() | 0o200 // its agent owns it
	if info.IsDir() {
		mode |= 0o700
	}
	return errors.Join(c.to.Chmod(name, mode), c.to.Chtimes(name, info.ModTime(), info.ModTime()))
}

func (c *copier) leave(rel string) {
	if info, err := c.to.Lstat(filepath.FromSlash(rel)); err == nil && info.IsDir() && rel != "." {
		return // it is there, and empty
	}
	c.left++
	c.such = rel
}
