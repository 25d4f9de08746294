package changes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/org/claude-sandbox/internal/diag"
)

// reader reads the content of what changed, within its bounds.
type reader struct {
	ctx   context.Context
	b     *Before
	after *node
	left  int64 // bytes that may still be read

	unsearched int // files that were not searched for secrets
}

// Notes on changes whose content is not shown.
const (
	noteLarge  = "too large to show"
	noteEnough = "not shown: the diff is full"
	// NoteBinary is the note of a file whose content git would call binary.
	NoteBinary = "binary"
)

// settle decides about files of which only times, inode or mode changed, and
// leaves out those that hold what they held: a changed mode alone remains of
// them. Where that cannot be told they stay.
func (r *reader) settle(changes []Change) []Change {
	var ask []int
	for i := range changes {
		if c := &changes[i]; c.Kind == Changed && c.After.What == File && c.Before.Size == c.After.Size {
			ask = append(ask, i)
		}
	}
	same := make([]bool, len(changes))
	r.withOld(changes, ask, func(i int, old []byte, note string) {
		c := &changes[i]
		if note != "" {
			c.Note = note
			return
		}
		now, err := r.read(c.Path)
		if err != nil || !bytes.Equal(old, now) {
			return // diff reads it once more, if it comes so far
		}
		if same[i] = c.Before.Mode == c.After.Mode; !same[i] {
			c.Kind = Mode
		}
	})
	kept := changes[:0]
	for i, c := range changes {
		if !same[i] {
			kept = append(kept, c)
		}
	}
	return kept
}

// onlyContent reports whether a file is new, or has another content and the same mode.
func (c Change) onlyContent() bool {
	if c.After == nil || c.After.What != File {
		return false
	}
	return c.Before == nil || c.Before.What == File && c.Before.Mode == c.After.Mode
}

// withoutAccepted leaves out the changes to what the user has accepted, see Accept. A mode
// that changed as well is one of the run.
func (r *reader) withoutAccepted(changes []Change) []Change {
	return slices.DeleteFunc(changes, func(c Change) bool {
		want, ok := r.b.accepted[c.Path]
		if !ok || !c.onlyContent() {
			return false
		}
		now, err := r.read(c.Path)
		return err == nil && bytes.Equal(now, want)
	})
}

// read reads a file as it is now.
func (r *reader) read(rel string) ([]byte, error) {
	n := r.after.at(rel)
	switch {
	case n == nil:
		return nil, errOther
	case n.size > maxFile:
		return nil, errLarge
	case r.left < n.size || r.ctx.Err() != nil:
		return nil, errEnough
	}
	r.left -= n.size
	return readFile(r.b.root, rel, n)
}

var (
	errLarge  = errors.New(noteLarge)
	errEnough = errors.New(noteEnough)
)

// withOld calls do with what the files of some changes held before, or with a
// note why that is not known. Blobs are read in one go.
func (r *reader) withOld(changes []Change, which []int, do func(i int, old []byte, note string)) {
	byBlob := map[string][]int{}
	var names []string
	give := func(i int, blob []byte) {
		c := &changes[i]
		if c.Before.Size > maxFile {
			do(i, nil, noteLarge)
			return
		}
		if r.left < c.Before.Size || r.ctx.Err() != nil {
			do(i, nil, noteEnough)
			return
		}
		r.left -= c.Before.Size
		old, note := r.b.content(c.Path, r.b.tree.at(c.Path), blob)
		do(i, old, note)
	}
	for _, i := range which {
		name, ok := r.b.blobs[changes[i].Path]
		if !ok {
			give(i, nil)
			continue
		}
		if byBlob[name] == nil {
			names = append(names, name)
		}
		byBlob[name] = append(byBlob[name], i)
	}
	if len(names) > 0 {
		_ = r.b.repo.blobs(r.ctx, names, func(name string, content []byte) bool { // what it lacks is given below
			for _, i := range byBlob[name] {
				give(i, content)
			}
			delete(byBlob, name)
			return r.ctx.Err() == nil
		})
	}
	for _, name := range names {
		for _, i := range byBlob[name] {
			give(i, nil)
		}
	}
}

// diff makes the content of the set's changes ready for the patch: both sides
// of what is shown, and a note for the rest.
func (r *reader) diff(set *Set) {
	patchLeft, formerLeft := int64(maxPatch), int64(maxFormer)
	const pieces = 200 // changes whose contents are in memory at a time
	for from := 0; from < len(set.Changes); from += pieces {
		piece := set.Changes[from:min(from+pieces, len(set.Changes))]
		r.contents(piece)
		for i := range piece {
			c := &piece[i]
			c.binaries = r.b.binaries
			c.makePatch(&patchLeft, &formerLeft, r.b.secrets)
			set.Plus, set.Minus = set.Plus+c.Plus, set.Minus+c.Minus
			set.Cut = set.Cut || c.Note == noteEnough
		}
	}
	if r.unsearched > 0 {
		set.Unseen = append(set.Unseen, counted(r.unsearched, "file was", "files were")+" not searched for the values of secrets")
	}
}

// contents fills in both sides of changes.
func (r *reader) contents(changes []Change) {
	var old []int
	for i := range changes {
		c := &changes[i]
		if c.hasContent(c.Before) && !c.Folded && c.Kind != Mode && c.Note == "" {
			old = append(old, i)
		}
	}
	r.withOld(changes, old, func(i int, content []byte, note string) { changes[i].old, changes[i].Note = content, note })
	for i := range changes {
		c := &changes[i]
		if c.Folded && c.Kind == Added {
			r.searchUnshown(c)
		}
		if !c.hasContent(c.After) || c.Folded || c.Kind == Mode {
			continue
		}
		if slices.Contains([]string{noteLarge, noteEnough}, c.Note) { // its former content already is
			r.searchUnshown(c)
			continue
		}
		content, err := r.read(c.Path)
		switch {
		case errors.Is(err, errLarge), errors.Is(err, errEnough):
			c.Note = err.Error()
			r.searchUnshown(c)
		case err != nil:
			c.Note = fmt.Sprintf("it cannot be read: %v", diag.WithoutPath(err))
		default:
			c.new = content
		}
	}
}

// hasContent reports whether a side of a change is a file.
func (c *Change) hasContent(s *State) bool { return s != nil && s.What == File }
