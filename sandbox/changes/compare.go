package changes

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Compare says what is different now. When ctx ends it stops where it is and says
// so: a Set comes in every case.
func (b *Before) Compare(ctx context.Context) *Set {
	w := &walk{ctx: ctx, root: b.root, before: b.tree, table: b.table, left: maxEntries, unseen: unseen{lines: slices.Clone(b.seen)}}
	after := w.run()
	c := &comparison{b: b, after: after, removed: map[fileID]string{}, twins: map[string]string{}}
	if b.tree.mode != after.mode { // 0 where it could not be looked at
		c.add(".", Mode, b.tree, after)
	}
	c.folder(".", b.tree, after)
	if n := b.sums.missed; n > 0 {
		w.unseen.say("%s in memory, on a file system that does not tell of all changes", counted(n, "file", "files"))
	}
	set := &Set{Unseen: w.unseen.all(), Repositories: newRepositories(".", b.tree, after, b.taken.UnixNano())}
	r := &reader{ctx: ctx, b: b, after: after, left: maxRead}
	c.changes = r.withoutAccepted(r.settle(c.changes))
	c.into(set)
	r.diff(set)
	c.findMoves(set)
	if !b.ended.IsZero() {
		set.endAt(b.ended.UnixNano())
	}
	return set
}

// endAt notes when the run had ended, and what changed later.
func (s *Set) endAt(ended int64) {
	s.Ended = ended
	for i := range s.Changes {
		s.Changes[i].Later = s.Changes[i].When > ended
	}
}

// comparison collects the differences of two trees.
type comparison struct {
	b       *Before
	after   *node
	changes []Change
	removed map[fileID]string // files that are gone, by what they were
	twins   map[string]string // paths that some file systems take for each other's, by the new one
	top     string            // the new folder that is being noted
	inGit   bool              // these are a repository's own files
}

// folder compares what a folder held with what it holds.
func (c *comparison) folder(rel string, before, after *node) {
	for i := range before.kids {
		was := &before.kids[i]
		at := join(rel, was.name)
		if now := after.kid(was.name); now != nil {
			c.entry(at, was, now)
		} else {
			c.gone(at, was)
		}
	}
	c.findTwins(rel, before, after)
	for i := range after.kids {
		now := &after.kids[i]
		if before.kid(now.name) != nil {
			continue
		}
		at := join(rel, now.name)
		switch {
		case c.b.ours[at] && isPlaceholder(now):
		case !before.listed && now.ctime < c.b.taken.UnixNano():
			// The first walk did not get here, and it was here before the run.
			if now.what == Folder {
				c.folder(at, &node{}, now)
			}
		default:
			c.fresh(at, now)
		}
	}
}

// isPlaceholder reports whether an entry may be one of the run's own: an empty
// folder, or a file of a few bytes.
func isPlaceholder(n *node) bool {
	return n.what == Folder && len(n.kids) == 0 || n.what == File && n.size <= 16
}

// entry compares a path that is there before and after.
func (c *comparison) entry(rel string, was, now *node) {
	switch {
	case was.what != now.what:
		if c.b.ours[rel] && isPlaceholder(now) {
			return
		}
		c.add(rel, Type, was, now)
		if was.what == Folder {
			c.below(rel, was, Removed)
		}
		if now.what == Folder {
			c.below(rel, now, Added)
		}
	case now.what == Folder:
		if was.mode != now.mode {
			c.add(rel, Mode, was, now)
		}
		if c.b.out[rel] {
			return
		}
		if isRepository(now.name) && !c.inGit {
			c.repository(rel, was, now)
			return
		}
		c.folder(rel, was, now)
	case was.id == now.id && was.size == now.size && was.mode == now.mode && was.mtime == now.mtime && was.ctime == now.ctime:
		if now.what == File && c.b.differs(rel, now) {
			c.add(rel, Changed, was, now)
		}
	case now.what == Symlink:
		if was.target != now.target {
			c.add(rel, Link, was, now)
		}
	case now.what == Special:
		if was.id != now.id || was.mode != now.mode {
			c.add(rel, Changed, was, now)
		}
	default:
		c.add(rel, Changed, was, now) // reader.settle looks at the content
	}
}

// gone notes a path that is no longer there.
func (c *comparison) gone(rel string, was *node) {
	if c.b.ours[rel] && isPlaceholder(was) {
		return
	}
	if was.what == Folder {
		c.below(rel, was, Removed)
		return
	}
	if was.id != (fileID{}) {
		c.removed[was.id] = rel
	}
	c.add(rel, Removed, was, nil)
}

// fresh notes a new path.
func (c *comparison) fresh(rel string, now *node) {
	if now.what == Folder {
		c.top = rel
		c.below(rel, now, Added)
		c.top = ""
		return
	}
	c.add(rel, Added, nil, now)
}

// below notes all that a new or a removed folder holds. Very many files become
// one Change; what programs obey in them is named nevertheless.
func (c *comparison) below(rel string, n *node, kind Kind) {
	files, bytes := n.count()
	one := func(rel string, k *node) {
		if kind == Added {
			c.add(rel, kind, nil, k)
		} else {
			c.add(rel, kind, k, nil)
		}
	}
	if files == 0 && len(n.kids) == 0 {
		one(rel, n)
		return
	}
	newRepository := kind == Added && isRepository(n.name)
	if kind == Added {
		c.findTwins(rel, nil, n)
	}
	if !newRepository && (files <= foldFrom || manyBelow(n, files)) {
		for i := range n.kids {
			if k := &n.kids[i]; k.what == Folder {
				c.below(join(rel, k.name), k, kind)
			} else {
				if kind == Removed && k.id != (fileID{}) {
					c.removed[k.id] = join(rel, k.name)
				}
				one(join(rel, k.name), k)
			}
		}
		return
	}
	one(rel, n)
	folded := &c.changes[len(c.changes)-1]
	folded.Folded, folded.Files, folded.Bytes = true, files, bytes
	switch {
	case newRepository:
		folded.Note = "a new repository"
	case kind == Added:
		at := len(c.changes) - 1
		note := c.namedIn(rel, n)
		c.changes[at].Note = note
	}
}

// manyBelow reports whether nearly all of a folder's files are in single folders
// of it that hold very many each: then these are folded, and not their
// neighbours.
func manyBelow(n *node, files int) bool {
	inMany := 0
	for i := range n.kids {
		if f, _ := n.kids[i].count(); n.kids[i].what == Folder && f > foldFrom {
			inMany += f
		}
	}
	return inMany*10 >= files*9
}

// namedIn adds the files of a folded folder that programs obey on sight, and
// says how many more there are, and how many that builds obey.
func (c *comparison) namedIn(rel string, n *node) string {
	named, more, builds := 0, 0, 0
	n.each(rel, func(at string, k *node) {
		switch class := c.class(at); {
		case inRepository(at), k.what == Folder && !isRepository(k.name):
		case class.OnSight() && named < maxInFolded:
			c.add(at, Added, nil, k)
			named++
		case class.OnSight():
			more++
		case class.Dangerous():
			builds++
		}
	})
	var parts []string
	if more > 0 {
		parts = append(parts, counted(more, "more file", "more files")+" that programs obey on sight")
	}
	if builds > 0 {
		parts = append(parts, counted(builds, "file", "files")+" that builds and CI obey")
	}
	if len(parts) == 0 {
		return ""
	}
	return "with " + strings.Join(parts, " and ")
}

// class is who obeys a path.
func (c *comparison) class(rel string) obeyed.Class {
	return c.b.table.Class(rel, func(dir string) bool { return c.after.at(dir).kid(".git") != nil })
}

func (c *comparison) add(rel string, kind Kind, was, now *node) {
	change := newChange(rel, kind, nil, nil)
	if was != nil {
		change.Before = was.state()
	}
	if now != nil {
		change.After, change.now, change.When = now.state(), now, now.ctime
		change.Fresh, change.Twin = c.top, c.twinOf(rel)
	}
	change.Class = c.class(rel)
	c.changes = append(c.changes, change)
}

// findMoves names the old path of files that only went elsewhere. A system gives the
// number of a removed file to the next new one, so the content must tell, too.
func (c *comparison) findMoves(set *Set) {
	gone := map[string]*Change{}
	for i := range set.Changes {
		if change := &set.Changes[i]; change.Kind == Removed {
			gone[change.Path] = change
		}
	}
	for i := range set.Changes {
		change := &set.Changes[i]
		if change.Kind == Added && change.After.What == File {
			from, ok := c.removed[change.now.id]
			if ok && isMoved(c.b.tree.at(from), gone[from], change) {
				change.From = from
			}
		}
		change.now = nil // the tree is large
	}
}

// isMoved reports whether a new file holds what a removed one did, or begins as it did.
// Where a content is not known, size and time must be those of before. gone is nil for a
// file that is no change of its own.
func isMoved(was *node, gone, fresh *Change) bool {
	if gone == nil || gone.SumWas == "" || fresh.Sum == "" {
		return was.size == fresh.now.size && was.mtime == fresh.now.mtime
	}
	return gone.SumWas == fresh.Sum || gone.oldHead != "" && gone.oldHead == fresh.newHead
}

// into sorts the changes into a set, within its bounds.
func (c *comparison) into(set *Set) {
	slices.SortStableFunc(c.changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Class, a.Class), strings.Compare(a.Path, b.Path))
	})
	for _, change := range c.changes {
		if !change.gits {
			set.Files += max(change.Files, 1)
		}
	}
	set.Changes = c.changes[:min(len(c.changes), maxChanges)]
	set.More = len(c.changes) - len(set.Changes)
}
