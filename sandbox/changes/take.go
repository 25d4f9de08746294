package changes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Before is a project as it was when Take looked at it.
type Before struct {
	root   *os.Root
	table  *obeyed.Table
	tree   *node
	repo   *repository       // nil = there is none
	blobs  map[string]string // blob of a clean file, by path
	kept   map[string]keptAt // where the copy of a file is, by path
	store  *os.File          // holds the copies; nil = none could be made
	record string            // the file that Save wrote; "" = none
	taken  time.Time         // when the walk began
	ours   map[string]bool   // see Options.Ours
	out    map[string]bool   // see Options.OutOfReach
	seen   []string          // what was not looked at at the beginning
	sums   sums              // of what times do not tell of

	accepted map[string][]byte // see Accept
	secrets  *redact.Finder    // see Options.Secrets
	ended    time.Time         // of the run; zero = it ends when Compare looks
	binaries bool              // see Options.Binaries
}

// keptAt is a piece of the store.
type keptAt struct{ offset, size int64 }

// Options of Take.
type Options struct {
	// Keep is a folder of the caller's for copies of files, outside of the
	// project. They are removed by Close.
	Keep string
	// Ours are the paths of the run's own empty placeholders, slash-separated,
	// which are no changes; nil = none.
	Ours []string
	// OutOfReach are folders that the agent sees something else in, such as a
	// .git with a volume over it. Changes in them are somebody else's and are not
	// looked for; a folder that goes, or comes in its place, is.
	OutOfReach []string
	// Secrets are values of the run that no diff shows: changes that hold one name it.
	// nil = none.
	Secrets *redact.Finder
	// Binaries has the diff hold the content of binary files in git's form, for a program
	// that applies it; otherwise it names them, for people.
	Binaries bool
}

// Take remembers what is in a folder: of each file what the kernel says of it,
// and of as many as the bounds allow where to find the content later. It errs
// when the folder cannot be read at all; whatever else fails makes the diff
// poorer and is said there.
func Take(ctx context.Context, dir string, o Options) (*Before, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("looking at the project before the run: %w", err)
	}
	b := &Before{
		root: root, table: obeyed.NewTable(), taken: time.Now(), repo: findRepository(dir),
		blobs: map[string]string{}, kept: map[string]keptAt{}, ours: map[string]bool{}, out: map[string]bool{},
		secrets: o.Secrets, binaries: o.Binaries,
	}
	for _, rel := range o.Ours {
		b.ours[rel] = true
	}
	for _, rel := range o.OutOfReach {
		b.out[rel] = true
	}
	index := b.repo.readIndex(ctx) // while we walk
	w := &walk{ctx: ctx, root: root, table: b.table, left: maxEntries}
	b.tree = w.run()
	b.seen = w.unseen.all()
	b.sum(ctx)
	b.remember(ctx, <-index, o.Keep)
	return b, nil
}

// Accept names files, by their slash-separated paths, and what they hold by the user's word:
// Compare leaves out a change to just that.
func (b *Before) Accept(files map[string][]byte) { b.accepted = files }

// AcceptedIn returns those of files, by their real paths, that are in dir, as Accept has them.
func AcceptedIn(dir string, files map[string][]byte) map[string][]byte {
	in := map[string][]byte{}
	for name, text := range files {
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			in[filepath.ToSlash(rel)] = text
		}
	}
	return in
}

// Close removes the copies and the record.
func (b *Before) Close() error {
	if b.record != "" {
		_ = os.Remove(b.record)
	}
	if b.store != nil {
		_ = b.store.Close()
		_ = os.Remove(b.store.Name())
	}
	return b.root.Close()
}

// Leave keeps both for Reopen, and when the run had ended; zero changes nothing of that.
func (b *Before) Leave(ended time.Time) error {
	if b.store != nil {
		_ = b.store.Close()
	}
	err := b.root.Close()
	if b.record != "" && !ended.IsZero() {
		err = errors.Join(err, os.Chtimes(b.record, ended, ended))
	}
	return err
}

// remember notes the blobs of clean files and copies the others.
func (b *Before) remember(ctx context.Context, index indexed, keep string) {
	var dirty, loose []string
	b.tree.each(".", func(rel string, n *node) {
		if n.what != File {
			return
		}
		f, ok := index.files[rel]
		switch {
		case ok && f.clean(n, index.written):
			b.blobs[rel] = f.blob
		case inRepository(rel): // its content is git's
		case ok || b.table.Class(rel, nil).OnSight():
			dirty = append(dirty, rel)
		default:
			loose = append(loose, rel)
		}
	})
	store, err := os.CreateTemp(keep, "before-*")
	if err != nil {
		return // copies are for the diff alone, which says what it lacks
	}
	b.store = store
	if len(index.files) > 0 {
		loose = withoutMasses(loose)
	}
	b.keep(ctx, b.portions(slices.Concat(dirty, loose)))
}

// withoutMasses leaves out files of top folders with very many that git does not
// know, such as node_modules: the copies are for work that is not committed yet.
func withoutMasses(files []string) []string {
	top := func(rel string) string {
		first, _, _ := strings.Cut(rel, "/")
		return first
	}
	number := map[string]int{}
	for _, rel := range files {
		if strings.Contains(rel, "/") {
			number[top(rel)]++
		}
	}
	return slices.DeleteFunc(files, func(rel string) bool { return number[top(rel)] > manyInFolder })
}

// errOther says that a file is not what the walk saw.
var errOther = errors.New("it changed while it was read")

// readFile reads a regular file of at most maxFile bytes, which must be the one
// that the walk saw. It follows no link and waits for no pipe.
func readFile(root *os.Root, rel string, n *node) ([]byte, error) {
	f, err := openFile(root, rel, n)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content := make([]byte, 0, min(n.size, maxFile)+1)
	content, err = readUpTo(f, content)
	if err != nil {
		return nil, err
	}
	return content, isStill(f, n)
}

// openFile opens a file that must be the one that the walk saw.
func openFile(root *os.Root, rel string, n *node) (*os.File, error) {
	f, err := root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := isStill(f, n); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isStill errs when an open file is not the one that the walk saw, or has changed since.
func isStill(f *os.File, n *node) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if now := newNode(n.name, info); now.what != File || now.id != n.id || now.ctime != n.ctime || now.size != n.size {
		return errOther
	}
	return nil
}

// readUpTo fills a buffer up to its capacity.
func readUpTo(from io.Reader, buffer []byte) ([]byte, error) {
	n, err := io.ReadFull(from, buffer[:cap(buffer)])
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return buffer[:n], err
}

// content is what a file held before, nil with a reason where that is not
// known. blob is the content of its blob, where git has one.
func (b *Before) content(rel string, n *node, blob []byte) ([]byte, string) {
	if at, ok := b.kept[rel]; ok {
		content := make([]byte, at.size)
		if _, err := b.store.ReadAt(content, at.offset); err == nil || err == io.EOF {
			return content, ""
		}
	}
	if blob != nil {
		if content, ok := asCheckedOut(blob, n.size); ok {
			return content, ""
		}
		return nil, "git converts this file, and its content before is not known"
	}
	if n.size == 0 {
		return []byte{}, ""
	}
	return nil, "its content before was not kept"
}
