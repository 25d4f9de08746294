package changes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Repository is a place at which git finds a repository that was not there before,
// or finds another kind of one.
type Repository struct {
	Path string                `json:"path"` // slash-separated; "." is the project's own folder
	Kind obeyed.RepositoryKind `json:"kind"`
}

// newRepositories lists what git finds in after and did not find in before, which
// is nil for a new folder. Upper and lower case count as the same, as on some
// hosts. began is when the walk of before did, in nanoseconds since 1970.
func newRepositories(rel string, before, after *node, began int64) (found []Repository) {
	before = before.completed(after, began)
	note := func(at string, was, is obeyed.RepositoryKind) {
		if is != "" && is != was {
			found = append(found, Repository{at, is})
		}
	}
	note(rel, bareKind(before), bareKind(after))
	for i := range after.kids {
		k := &after.kids[i]
		at, was := join(rel, k.name), before.kid(k.name)
		switch {
		case isRepository(k.name):
			note(at, gitKind(was.completed(k, began)), gitKind(k))
		case k.what == Folder:
			found = append(found, newRepositories(at, was, k, began)...)
		}
	}
	return found
}

// completed adds to a folder that was not read to its end what must have been
// there: the kernel has not touched it since.
func (n *node) completed(after *node, began int64) *node {
	if n == nil || n.listed {
		return n
	}
	whole := &node{name: n.name, what: n.what, kids: slices.Clone(n.kids), listed: true}
	for _, k := range after.kids {
		if n.kid(k.name) == nil && k.ctime < began {
			whole.kids = append(whole.kids, node{name: k.name, what: k.what, ctime: k.ctime})
		}
	}
	slices.SortFunc(whole.kids, func(a, b node) int { return strings.Compare(a.name, b.name) })
	return whole
}

// gitKind says what a .git is to git; a folder without HEAD is nothing.
func gitKind(n *node) obeyed.RepositoryKind {
	switch {
	case n == nil || n.what == Folder && !n.has("HEAD"):
		return ""
	case n.what == Folder:
		return obeyed.GitFolder
	case n.what == Symlink:
		return obeyed.GitLink
	}
	return obeyed.GitFile
}

// bareKind says what a folder is to git without a .git in it.
func bareKind(n *node) obeyed.RepositoryKind {
	if n == nil || !n.has("HEAD") {
		return ""
	}
	return obeyed.Bare(n.has)
}

// has reports whether a folder holds a name, in whatever case.
func (n *node) has(name string) bool {
	return slices.ContainsFunc(n.kids, func(k node) bool { return strings.EqualFold(k.name, name) })
}

// repositoriesWarning names the new repositories in a sentence, at most limit of them; ""
// for none.
func (s *Set) repositoriesWarning(limit int) string {
	if s == nil || len(s.Repositories) == 0 {
		return ""
	}
	var names []string
	for _, r := range s.Repositories[:min(len(s.Repositories), limit)] {
		names = append(names, fmt.Sprintf("%s (%s)", visible.Line(r.Path), r.Kind))
	}
	if more := len(s.Repositories) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("new since the run began: %s; the configuration of a repository can name programs, "+
		"and git, a shell prompt or an editor on this machine would run them, also from the folder above; "+
		"look at it without git (ls, cat .../config), and remove or approve it, before you go there or open "+
		"the folder", strings.Join(names, ", "))
}
