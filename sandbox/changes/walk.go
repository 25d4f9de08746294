package changes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// walk reads a tree through one open folder and follows no link. It goes breadth
// first, so that the bounds cut off what lies deep.
//
// With a tree of before, what was known then comes first, entry by entry: no
// flood of new files can push a change of an old one out of the bounds.
type walk struct {
	ctx    context.Context
	root   *os.Root
	before *node // nil = this is the first walk
	table  *obeyed.Table
	left   int // entries that may still be looked at
	paths  int // bytes of the paths of new entries
	unseen unseen
}

// unseen collects sentences about what was not looked at, a bounded number.
type unseen struct {
	lines []string
	more  int
}

func (u *unseen) say(format string, args ...any) {
	if len(u.lines) >= maxUnseen {
		u.more++
		return
	}
	u.lines = append(u.lines, fmt.Sprintf(format, args...))
}

// all are the sentences, the last of which says how many there are besides.
func (u *unseen) all() []string {
	if u.more == 0 {
		return u.lines
	}
	return append(slices.Clone(u.lines), fmt.Sprintf("and %d more places", u.more))
}

// place is a folder that is still to be read.
type place struct {
	node   *node
	before *node // nil = it is new
	rel    string
	depth  int
}

// run reads everything below the root.
func (w *walk) run() *node {
	top := &node{name: ".", what: Folder}
	if info, err := w.root.Stat("."); err == nil {
		*top = newNode(".", info)
	}
	known, fresh := []place{{top, w.before, ".", 0}}, []place(nil)
	for len(known)+len(fresh) > 0 {
		var p place
		if len(known) > 0 {
			p, known = known[0], known[1:]
		} else {
			p, fresh = fresh[0], fresh[1:]
		}
		if err := w.ctx.Err(); err != nil {
			w.unseen.say("the search for changes was ended at %s: %v", quoted(p.rel), context.Cause(w.ctx))
			return top
		}
		w.read(p)
		if p.before == nil {
			w.paths += len(p.rel) * len(p.node.kids)
		}
		if p.before == nil && w.paths > maxPaths {
			w.unseen.say("the paths are longer than %d MiB together at %s", maxPaths>>20, quoted(p.rel))
			return top
		}
		for i := range p.node.kids {
			k := &p.node.kids[i]
			if k.what != Folder {
				continue
			}
			next := place{k, p.before.kid(k.name), join(p.rel, k.name), p.depth + 1}
			switch {
			case len(next.rel) > maxPath:
				w.unseen.say("%s... has a path of more than %d bytes", quoted(next.rel[:100]), maxPath)
			case next.depth > maxDepth:
				w.unseen.say("%s lies more than %d folders deep", quoted(next.rel), maxDepth)
			case w.before == nil || next.before != nil && next.before.what == Folder:
				known = append(known, next)
			default:
				next.before = nil
				fresh = append(fresh, next)
			}
		}
	}
	return top
}

// read lists one folder.
func (w *walk) read(p place) {
	folder, err := w.open(p)
	if errors.Is(err, fs.ErrNotExist) {
		return // it is gone again, as folders of git's are
	}
	if err != nil {
		w.unseen.say("%s cannot be read: %v", quoted(p.rel), diag.WithoutPath(err))
		return
	}
	defer folder.Close()
	for i := range p.kidsBefore() {
		w.take(folder, p.node, p.before.kids[i].name)
	}
	names, err := folder.Open(".")
	if err != nil {
		w.unseen.say("%s cannot be read: %v", quoted(p.rel), diag.WithoutPath(err))
		return
	}
	defer names.Close()
	p.node.listed = w.readNew(p, folder, names)
	slices.SortFunc(p.node.kids, func(a, b node) int { return strings.Compare(a.name, b.name) })
}

// open opens a folder of which the walk has seen the entry; another one in its
// place, or a link, is an error.
func (w *walk) open(p place) (*os.Root, error) {
	folder, err := w.root.OpenRoot(p.rel)
	if err != nil {
		return nil, err
	}
	info, err := folder.Stat(".")
	if err == nil && newNode(p.node.name, info).id != p.node.id {
		err = errors.New("something else came in its place")
	}
	if err != nil {
		folder.Close()
		return nil, err
	}
	return folder, nil
}

// kidsBefore are the entries that the folder had.
func (p place) kidsBefore() []node {
	if p.before == nil {
		return nil
	}
	return p.before.kids
}

// readNew takes the names that were not there before and reports whether it came
// to their end. Beyond the bounds it still looks for names that programs obey.
func (w *walk) readNew(p place, folder *os.Root, names *os.File) bool {
	read, looked, passed := 0, 0, 0
	for {
		batch, err := names.Readdirnames(4096)
		for _, name := range batch {
			if p.before.kid(name) != nil {
				continue
			}
			within := w.left > 0 && looked < maxNewInOne
			if !within && !w.table.Class(join(p.rel, name), nil).OnSight() {
				passed++
				continue
			}
			looked++
			w.left--
			w.take(folder, p.node, name)
		}
		read += len(batch)
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			w.unseen.say("%s cannot be read to its end: %v", quoted(p.rel), diag.WithoutPath(err))
			return false
		case err != nil || len(batch) == 0:
			if passed > 0 {
				w.unseen.say("%s holds %d more entries, which were not looked at", quoted(p.rel), passed)
			}
			return passed == 0
		case read >= maxNames || w.ctx.Err() != nil:
			w.unseen.say("%s holds more than %d entries, which were not looked at", quoted(p.rel), read-looked)
			return false
		}
	}
}

// take adds an entry to a folder's node; one that is gone again is left out.
func (w *walk) take(folder *os.Root, to *node, name string) {
	info, err := folder.Lstat(name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.unseen.say("%s cannot be looked at: %v", quoted(name), diag.WithoutPath(err))
		}
		return
	}
	n := newNode(name, info)
	if n.what == Symlink {
		n.target, _ = folder.Readlink(name)
	}
	to.kids = append(to.kids, n)
}

// quoted shows a path in a sentence.
func quoted(rel string) string { return visible.Line(rel) }
