package changes

import (
	"bytes"
	"path"

	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Pair is a path that differs between two trees which somebody else compared, such as
// those of two commits.
type Pair struct {
	Path          string
	Before, After *State // nil = it is not there
	Old, New      []byte // of files; nil where Note says why
	Note          string
	Secrets       []Secret // that New holds, which has asterisks in their place
}

// NoteLarge is the note of a file that is too large to be shown.
const NoteLarge = noteLarge

// Of makes a set of pairs. names are all paths of the tree after; one that some file
// systems take for a new path is its twin, and so is one that is gone.
func Of(pairs []Pair, names []string) *Set {
	c := &comparison{b: &Before{table: obeyed.NewTable()}}
	named := map[string]string{} // by the folded path, also of folders
	added := map[string]bool{}
	for _, p := range pairs {
		added[p.Path] = p.Before == nil
	}
	for _, name := range names {
		for at := name; at != "." && !added[name]; at = path.Dir(at) {
			form := obeyed.FoldedPath(at)
			if _, known := named[form]; known {
				break
			}
			named[form] = at
		}
	}
	for _, p := range pairs {
		if form := obeyed.FoldedPath(p.Path); p.After == nil && named[form] == "" {
			named[form] = p.Path
		}
	}
	for _, p := range pairs {
		change := newChange(p.Path, p.kind(), p.Before, p.After)
		change.Note, change.old, change.new, change.Secrets = p.Note, p.Old, p.New, p.Secrets
		change.Class = c.b.table.Class(p.Path, nil)
		for at := p.Path; p.Before == nil && at != "."; at = path.Dir(at) {
			form := obeyed.FoldedPath(at)
			if other, known := named[form]; !known {
				named[form] = at
			} else if other != at && change.Twin == "" {
				change.Twin = other
			}
		}
		c.changes = append(c.changes, change)
	}
	set := &Set{}
	c.into(set)
	left, former := int64(maxPatch), int64(maxFormer)
	for i := range set.Changes {
		change := &set.Changes[i]
		change.makePatch(&left, &former, nil)
		set.Plus, set.Minus = set.Plus+change.Plus, set.Minus+change.Minus
		set.Cut = set.Cut || change.Note == noteEnough
	}
	return set
}

func (p *Pair) kind() Kind {
	switch {
	case p.Before == nil:
		return Added
	case p.After == nil:
		return Removed
	case p.Before.What != p.After.What:
		return Type
	case p.After.What == Symlink:
		return Link
	case p.Before.Mode != p.After.Mode && p.Note == "" && bytes.Equal(p.Old, p.New):
		return Mode
	}
	return Changed
}
