package copytree

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bounds of a path in an archive, and of where a link leads. Each step of a path takes time
// whenever something is done at its end, so that deep folders could keep a machine busy.
const (
	maxPath  = 4096 // bytes, as PATH_MAX of Linux
	maxDepth = 200
)

// stagedSuffix ends the name of the folder next to a tree in which Merge collects what
// comes into it.
const stagedSuffix = ".new"

// Back says how what comes back from an agent becomes a tree's.
type Back struct {
	Keep     []string // paths of the tree, slash-separated, that stay with all below: the places of git directories
	UID, GID int      // the owner of what is written; -1 = the user who merges
}

// Merge makes tree what an archive of it holds, whose names begin with a folder's own, and which
// ends with an error where it is broken off, see engine.OpenTar. Files that are
// the same in the tree are not written. Set-id bits are dropped. Hard links become files of
// their own. Devices, pipes, paths longer than maxPath or deeper than maxDepth, and other
// things without a place in a tree are left out with a note. With an error in the archive,
// or ErrTooLarge beyond the bounds of a copy, the tree is as it was.
func Merge(ctx context.Context, tree string, archive io.Reader, o Back) (notes []string, err error) {
	return merge(ctx, tree, archive, o, maxBytes)
}

// merge is Merge of an archive with files of at most so many bytes.
func merge(ctx context.Context, tree string, archive io.Reader, o Back, bytes int64) (notes []string, err error) {
	staging := tree + stagedSuffix
	if err := errors.Join(Remove(ctx, staging), os.Mkdir(staging, 0o700)); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, Remove(context.WithoutCancel(ctx), staging)) }()
	m := &merger{ctx: ctx, o: o, name: filepath.Base(tree), entries: map[string]*entry{}, bytes: bytes}
	if m.parent, err = os.OpenRoot(filepath.Dir(tree)); err != nil {
		return nil, err
	}
	defer m.parent.Close()
	if m.tree, err = m.parent.OpenRoot(m.name); err != nil {
		return nil, err
	}
	defer m.tree.Close()
	if m.staged, err = m.parent.OpenRoot(m.name + stagedSuffix); err != nil {
		return nil, err
	}
	defer m.staged.Close()
	if err := m.findFolding(); err != nil {
		return nil, err
	}
	if err := m.read(tar.NewReader(archive)); err != nil {
		return nil, fmt.Errorf("reading what the agent left: %w", err)
	}
	if err := errors.Join(m.removeGone("."), m.write()); err != nil {
		return nil, fmt.Errorf("writing what the agent left into %s: %w", tree, err)
	}
	if m.left > 0 {
		notes = append(notes, fmt.Sprintf("%d pipes, devices and names that this machine cannot have did not come back from the engine, "+
			"such as %s", m.left, m.such))
	}
	return notes, nil
}

// merger is one Merge. Its folders have no other writer meanwhile.
type merger struct {
	ctx                  context.Context
	o                    Back
	name                 string // of the tree in its parent
	parent, tree, staged *os.Root
	folds                bool // the file system does not tell upper from lower case

	entries map[string]*entry // what the tree becomes, by the path
	order   []string          // the paths, folders before what they hold
	number  int               // of staged files
	bytes   int64
	left    int
	such    string // one that is left out
}

// entry is what a path of the tree becomes.
type entry struct {
	kind   fs.FileMode // the type's bits
	perm   fs.FileMode
	time   time.Time
	leads  string // of a link
	staged string // of a file, where its content is; "" = in the tree already
	size   int64
}

// findFolding finds out whether two spellings are one name here.
func (m *merger) findFolding() error {
	if err := m.staged.WriteFile("a", nil, 0o600); err != nil {
		return err
	}
	_, err := m.staged.Lstat("A")
	m.folds = err == nil
	return m.staged.Remove("a")
}

// key is what tells paths of the tree apart.
func (m *merger) key(rel string) string {
	if m.folds {
		return strings.ToLower(rel)
	}
	return rel
}

// kept reports whether a path stays as it is.
func (m *merger) kept(rel string) bool {
	return slices.ContainsFunc(m.o.Keep, func(keep string) bool {
		return m.key(rel) == m.key(keep) || strings.HasPrefix(m.key(rel), m.key(keep)+"/")
	})
}

// read reads the archive to its end.
func (m *merger) read(in *tar.Reader) error {
	for {
		if m.ctx.Err() != nil {
			return context.Cause(m.ctx)
		}
		h, err := in.Next()
		switch {
		case err == io.EOF && m.entries["."] == nil:
			return errors.New("the archive holds no folder")
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case len(m.entries) >= maxEntries:
			return tooLarge()
		}
		if err := m.take(h, in); err != nil {
			return err
		}
	}
}

// relative is a name of the archive without the folder that all begin with.
func relative(name string) string {
	_, rel, below := strings.Cut(path.Clean("/" + name)[1:], "/")
	if !below {
		return "."
	}
	return rel
}

// hasPlace reports whether an entry can be taken: its way leads over folders of this
// archive alone, so that no link is followed whatever is in the tree.
func (m *merger) hasPlace(rel string, h *tar.Header) bool {
	if m.entries[m.key(rel)] != nil || len(rel) > maxPath || len(h.Linkname) > maxPath || strings.Count(rel, "/") >= maxDepth {
		return false
	}
	if rel == "." {
		return h.Typeflag == tar.TypeDir
	}
	above := m.entries[m.key(path.Dir(rel))]
	return above != nil && above.kind == fs.ModeDir && filepath.IsLocal(filepath.FromSlash(rel))
}

// take takes one entry of the archive.
func (m *merger) take(h *tar.Header, content io.Reader) error {
	rel := relative(h.Name)
	if m.kept(rel) {
		return nil
	}
	if !m.hasPlace(rel, h) {
		m.leave(rel)
		return nil
	}
	e := &entry{perm: fs.FileMode(h.Mode) & 0o777, time: h.ModTime}
	switch h.Typeflag {
	case tar.TypeDir:
		e.kind, e.perm = fs.ModeDir, e.perm|0o700 // a person looks into it
	case tar.TypeSymlink:
		e.kind, e.leads = fs.ModeSymlink, h.Linkname
	case tar.TypeReg:
		if err := m.content(rel, e, h.Size, content); err != nil {
			return err
		}
	case tar.TypeLink:
		first := m.entries[m.key(relative(h.Linkname))]
		if first == nil || first.kind != 0 {
			m.leave(rel)
			return nil
		}
		in, err := m.open(relative(h.Linkname), first)
		if err != nil {
			return err
		}
		err = m.content(rel, e, first.size, in)
		in.Close()
		if err != nil {
			return err
		}
	default:
		m.leave(rel)
		return nil
	}
	if e.kind == 0 {
		e.perm |= 0o400
	}
	m.entries[m.key(rel)] = e
	m.order = append(m.order, rel)
	return nil
}

func (m *merger) leave(rel string) {
	m.left++
	m.such = rel[:min(len(rel), 200)]
}

// open opens the content of a file that was taken.
func (m *merger) open(rel string, e *entry) (*os.File, error) {
	if e.staged != "" {
		return m.staged.Open(e.staged)
	}
	return m.tree.Open(filepath.FromSlash(rel))
}

// content compares a file of the archive with that of the tree, and writes it into the
// folder of what is new from the first difference on.
func (m *merger) content(rel string, e *entry, size int64, in io.Reader) error {
	if m.bytes -= size; m.bytes < 0 {
		return tooLarge()
	}
	e.size = size
	in = io.LimitReader(in, size)
	was := m.formerFile(rel, size)
	if was == nil {
		return m.stage(e, in)
	}
	defer was.Close()
	var same int64
	var fresh, former [32 << 10]byte
	for same < size {
		n, err := io.ReadFull(in, fresh[:min(size-same, int64(len(fresh)))])
		if err != nil {
			return err
		}
		if _, err := io.ReadFull(was, former[:n]); err != nil {
			return err
		}
		if !bytes.Equal(fresh[:n], former[:n]) {
			return m.stage(e, io.NewSectionReader(was, 0, same), bytes.NewReader(fresh[:n]), in)
		}
		same += int64(n)
	}
	return nil
}

// formerFile opens the tree's regular file of that size; nil = there is none.
func (m *merger) formerFile(rel string, size int64) *os.File {
	name := filepath.FromSlash(rel)
	info, err := m.tree.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() != size {
		return nil
	}
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) { // a link there leads to another file of the tree
		if info, err := m.tree.Lstat(filepath.FromSlash(dir)); err != nil || !info.IsDir() {
			return nil
		}
	}
	f, err := m.tree.Open(name)
	if err != nil {
		return nil
	}
	return f
}

// stage writes a new file's content.
func (m *merger) stage(e *entry, parts ...io.Reader) error {
	m.number++
	e.staged = strconv.Itoa(m.number)
	f, err := m.staged.OpenFile(e.staged, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.MultiReader(parts...))
	if err == nil && n != e.size {
		err = io.ErrUnexpectedEOF
	}
	return errors.Join(err, f.Close())
}

// removeGone removes from a folder of the tree what the archive does not have there, or
// as another type.
func (m *merger) removeGone(rel string) error {
	dir, err := m.tree.Open(filepath.FromSlash(rel))
	if err != nil {
		return err
	}
	entries, err := dir.ReadDir(-1)
	dir.Close()
	for _, e := range entries {
		at := path.Join(rel, e.Name())
		want := m.entries[m.key(at)]
		switch {
		case m.kept(at):
		case want == nil || want.kind != e.Type():
			err = errors.Join(err, m.tree.RemoveAll(filepath.FromSlash(at)))
		case e.IsDir():
			err = errors.Join(err, m.removeGone(at))
		}
	}
	return err
}

// write brings what is new into the tree.
func (m *merger) write() error {
	for _, rel := range m.order {
		if rel == "." {
			continue
		}
		if m.ctx.Err() != nil {
			return context.Cause(m.ctx)
		}
		switch err := m.place(rel, m.entries[m.key(rel)]); {
		case errors.Is(err, syscall.EILSEQ), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, fs.ErrNotExist): // the last below such a name
			m.leave(rel)
		case err != nil:
			return err
		}
	}
	return nil
}

// place makes a path of the tree what it becomes. All above it are folders by now.
func (m *merger) place(rel string, e *entry) error {
	name := filepath.FromSlash(rel)
	now, err := m.tree.Lstat(name)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return err
	}
	switch {
	case e.kind == fs.ModeSymlink:
		if leads, err := m.tree.Readlink(name); err == nil && leads == e.leads {
			return nil
		}
		if !isNew {
			err = m.tree.Remove(name)
		} else {
			err = nil
		}
		return errors.Join(err, m.tree.Symlink(e.leads, name), m.own(name))
	case e.kind == fs.ModeDir && isNew:
		if err := errors.Join(m.tree.Mkdir(name, 0o700), m.own(name)); err != nil {
			return err
		}
	case e.staged != "":
		isNew = true
		if err := m.parent.Rename(filepath.Join(m.name+stagedSuffix, e.staged), filepath.Join(m.name, name)); err != nil {
			return err
		}
		if err := m.own(name); err != nil {
			return err
		}
	}
	if !isNew && now.Mode().Perm() == e.perm {
		return nil
	}
	err = m.tree.Chmod(name, e.perm)
	if e.staged != "" {
		err = errors.Join(err, m.tree.Chtimes(name, e.time, e.time))
	}
	return err
}

func (m *merger) own(name string) error {
	if m.o.UID < 0 {
		return nil
	}
	return m.tree.Lchown(name, m.o.UID, m.o.GID)
}
