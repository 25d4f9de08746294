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

	// Acts are words on what git on the host would obey there that a fresh clone does not
	// have; they may hold the agent's. nil = nothing. Head is then the new name of HEAD,
	// without which git takes the place for no repository; "" = it could not be moved.
	Acts []string `json:"acts,omitempty"`
	Head string   `json:"head,omitempty"`

	inner []string // git directories in it, of submodules and linked worktrees
}

// GitDirs lists the folders whose configuration git on the host would obey in the new
// repositories, below the project.
func (s *Set) GitDirs() (dirs []string) {
	for _, r := range s.Repositories {
		if r.Kind != obeyed.GitFile && r.Kind != obeyed.GitLink { // they lead to others, or out of the project
			dirs = append(dirs, r.Path)
		}
		dirs = append(dirs, r.inner...)
	}
	return dirs
}

// NoteActs notes what git would obey at one of GitDirs, and where HEAD is now.
func (s *Set) NoteActs(dir string, acts []string, head string) {
	at := slices.IndexFunc(s.Repositories, func(r Repository) bool { return r.Path == dir })
	if at < 0 {
		s.Repositories = append(s.Repositories, Repository{Path: dir, Kind: obeyed.BareFolder})
		at = len(s.Repositories) - 1
	}
	s.Repositories[at].Acts, s.Repositories[at].Head = acts, head
}

// newRepositories lists what git finds in after and did not find in before, which
// is nil for a new folder. Upper and lower case count as the same, as on some
// hosts. began is when the walk of before did, in nanoseconds since 1970.
func newRepositories(rel string, before, after *node, began int64) (found []Repository) {
	before = before.completed(after, began)
	note := func(at string, was, is obeyed.RepositoryKind) {
		if is != "" && is != was {
			found = append(found, Repository{Path: at, Kind: is})
		}
	}
	note(rel, bareKind(before), bareKind(after))
	for i := range after.kids {
		k := &after.kids[i]
		at, was := join(rel, k.name), before.kid(k.name)
		switch {
		case isRepository(k.name) && gitKind(k) != "":
			known := len(found)
			if note(at, gitKind(was.completed(k, began)), gitKind(k)); len(found) > known {
				found[known].inner = gitDirsIn(at, k)
			}
		case k.what == Folder: // also a .git that is none, in which one may hide
			found = append(found, newRepositories(at, was, k, began)...)
		}
	}
	return found
}

// gitDirsIn lists the git directories in a repository's own folder.
func gitDirsIn(rel string, n *node) (dirs []string) {
	for i := range n.kids {
		if k := &n.kids[i]; k.what == Folder {
			at := join(rel, k.name)
			if bareKind(k) != "" {
				dirs = append(dirs, at)
			}
			dirs = append(dirs, gitDirsIn(at, k)...)
		}
	}
	return dirs
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

// RepositoryWarnings name the new repositories in sentences, in each at most limit of
// them: first those that lost their HEAD.
func (s *Set) RepositoryWarnings(limit int) (sentences []string) {
	var armed, stuck, leading, plain []string
	for _, r := range s.Repositories {
		name := fmt.Sprintf("%s (%s)", visible.Line(r.Path), r.Kind)
		acts := visible.Line(strings.Join(r.Acts, ", "))
		switch {
		case r.Kind == obeyed.GitFile || r.Kind == obeyed.GitLink:
			leading = append(leading, name)
		case len(r.Acts) == 0:
			plain = append(plain, name)
		case r.Head == "":
			stuck = append(stuck, name+": "+acts)
		default:
			armed = append(armed, fmt.Sprintf("%s: %s; its HEAD is %s now", name, acts, visible.Line(r.Head)))
		}
	}
	const meaning = "new since the run began, and git, a shell prompt or an editor on this machine would obey more there than in a fresh clone"
	add := func(names []string, format string) {
		if more := len(names) - limit; more > 0 {
			names = append(names[:limit:limit], fmt.Sprintf("and %d more", more))
		}
		if len(names) > 0 {
			sentences = append(sentences, fmt.Sprintf(format, strings.Join(names, "; ")))
		}
	}
	add(stuck, meaning+": %s; it could not be disarmed: look at it without git (ls, cat .../config), and remove it before you go there or "+
		"open the folder")
	add(armed, meaning+", so that git now takes it for no repository: %s; look at it without git (ls, cat .../config) before you give HEAD "+
		"its name back")
	add(leading, "new since the run began, and they lead git to another place: %s; look at it without git (ls, cat) before you go there or "+
		"open the folder")
	add(plain, "new since the run began, with the settings of a fresh clone: %s")
	return sentences
}
