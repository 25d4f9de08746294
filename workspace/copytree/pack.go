package copytree

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/org/claude-sandbox/internal/diag"
)

// Pack adds the folder from, with all in it, to an archive below the name to, as a user's.
// Folders, plain files and links are packed, with permissions and times and without set-id
// bits; what goes meanwhile is left out. It errs with ErrTooLarge beyond the bounds of a
// copy, counting holes of files as well.
func Pack(ctx context.Context, tw *tar.Writer, from, to string, uid, gid int) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	p := &packer{ctx: ctx, tar: tw, root: root, to: to, uid: uid, gid: gid, entries: maxEntries, bytes: maxBytes}
	info, err := root.Lstat(".")
	if err == nil {
		err = p.folder(".", info)
	}
	if err != nil {
		return fmt.Errorf("packing %s: %w", from, err)
	}
	return nil
}

type packer struct {
	ctx      context.Context
	tar      *tar.Writer
	root     *os.Root
	to       string
	uid, gid int
	entries  int
	bytes    int64
}

func (p *packer) folder(rel string, info fs.FileInfo) error {
	if err := p.header(rel, info, tar.Header{Typeflag: tar.TypeDir}); err != nil {
		return err
	}
	dir, err := p.root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	entries, err := dir.ReadDir(p.entries + 1)
	dir.Close()
	if err != nil && err != io.EOF {
		return err
	}
	for _, e := range entries {
		if err := p.ctx.Err(); err != nil {
			return context.Cause(p.ctx)
		}
		if err := p.entry(path.Join(rel, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (p *packer) entry(rel string) error {
	name := filepath.FromSlash(rel)
	info, err := p.root.Lstat(name)
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return p.folder(rel, info)
	case mode&fs.ModeSymlink != 0:
		leads, err := p.root.Readlink(name)
		if err != nil {
			return err
		}
		return p.header(rel, info, tar.Header{Typeflag: tar.TypeSymlink, Linkname: leads})
	case mode.IsRegular():
		return p.file(rel, info)
	}
	return nil
}

// file packs a regular file, which must be the one that was looked at.
func (p *packer) file(rel string, info fs.FileInfo) error {
	in, err := p.root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	now, err := in.Stat()
	if err != nil || !os.SameFile(now, info) {
		return fs.ErrNotExist
	}
	if p.bytes -= now.Size(); p.bytes < 0 {
		return tooLarge()
	}
	if err := p.header(rel, now, tar.Header{Typeflag: tar.TypeReg, Size: now.Size()}); err != nil {
		return err
	}
	n, err := io.Copy(p.tar, io.LimitReader(in, now.Size()))
	if err == nil && n < now.Size() {
		err = fmt.Errorf("%s became shorter while it was read", rel)
	}
	return err
}

func (p *packer) header(rel string, info fs.FileInfo, h tar.Header) error {
	if p.entries--; p.entries < 0 {
		return tooLarge()
	}
	h.Name, h.Mode, h.ModTime = path.Join(p.to, rel), int64(info.Mode().Perm()), info.ModTime()
	if h.Typeflag == tar.TypeDir {
		h.Name += "/"
	}
	h.Uid, h.Gid, h.Format = p.uid, p.gid, tar.FormatPAX
	return p.tar.WriteHeader(&h)
}

func tooLarge() error {
	return diag.WithHint(fmt.Errorf("%w: it has more than %d files or %d GiB", ErrTooLarge, maxEntries, maxBytes>>30),
		"--workspace clone takes what is committed alone, --workspace bind copies nothing; "+
			"or move what is large out of the project, and show it with --mount HOST:CONTAINER:ro")
}
