package changes

import (
	"path"
	"strings"

	"github.com/org/claude-sandbox/workspace/obeyed"
)

// hasNewNames reports whether a folder has entries that can be twins: in a new folder
// (before is nil) at least two, in another one any name that was not there.
func hasNewNames(before, after *node) bool {
	if before == nil {
		return len(after.kids) > 1
	}
	return len(after.kids) > 0 && (len(before.kids) != len(after.kids) || !sameNames(before, after))
}

// findTwins notes new entries of a folder whose names some file systems take for that
// of another entry, also of one that is gone: a checkout there keeps one of the two. before
// is nil for a new folder.
func (c *comparison) findTwins(rel string, before, after *node) {
	if !hasNewNames(before, after) {
		return
	}
	first := make(map[string]*node, len(after.kids))
	if before != nil {
		for i := range before.kids {
			if k := &before.kids[i]; after.kid(k.name) == nil {
				first[obeyed.Folded(k.name)] = k
			}
		}
	}
	for i := range after.kids {
		k := &after.kids[i]
		form := obeyed.Folded(k.name)
		other := first[form]
		if other == nil {
			first[form] = k
			continue
		}
		for k, other := range map[*node]*node{k: other, other: k} {
			if before.kid(k.name) == nil {
				c.twins[join(rel, k.name)] = join(rel, other.name)
			}
		}
	}
}

func sameNames(before, after *node) bool {
	for i := range after.kids {
		if before.kids[i].name != after.kids[i].name {
			return false
		}
	}
	return true
}

// twinOf is the path that some file systems take a path for; "" for none.
func (c *comparison) twinOf(rel string) string {
	if len(c.twins) == 0 {
		return ""
	}
	for at := rel; at != "."; at = path.Dir(at) {
		if twin := c.twins[at]; twin != "" {
			return twin + strings.TrimPrefix(rel, at)
		}
	}
	return ""
}
