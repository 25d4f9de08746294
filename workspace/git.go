package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/workspace/gitdir"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// lookAtGit finds the repositories that the agent gets its own git directories
// of, and says for which it cannot. The owner of its commits comes later: git takes some
// milliseconds each time.
func (w *Workspace) lookAtGit() <-chan gitdir.Owner {
	var folders, files []string
	switch kind, _ := KindOf(filepath.Join(w.Dir, ".git")); kind {
	case Missing, Folder:
		folders = append(folders, ".git")
	case File:
		files = append(files, ".git")
	default: // nothing can be mounted over it, so it is refused
		w.Protect = append(w.Protect, ".git")
	}
	for i, rel := range nested(w.before) {
		if i == protectedRepos { // gitProtection says so
			break
		}
		if w.FoldsCase && strings.EqualFold(rel, ".git") {
			continue // it is the workspace's own
		}
		switch w.before.found[rel] {
		case obeyed.GitFolder:
			folders = append(folders, rel)
		case obeyed.GitFile:
			files = append(files, rel)
		}
	}
	w.Git = gitdir.Look(w.Dir, folders, files)
	if w.FoldsCase {
		w.Notes = append(w.Notes, w.Dir+" does not tell upper from lower case: the agent may write to protected files by another "+
			"spelling, such as .MCP.json; "+
			"what it changed there is named at the end, and only a clone on another file system prevents it")
	}
	owner, host := make(chan gitdir.Owner, 1), w.hostGit()
	go func() { owner <- gitdir.Identity(context.Background(), host) }()
	w.Filters = gitFilters(w.Dir)
	w.coverSubmodules()
	return owner
}

// NoGit are sentences for the user about repositories in which git does not work for the
// agent.
func (w *Workspace) NoGit() (notes []string) {
	for _, r := range w.Git.Repositories {
		if r.Problem != "" {
			folder := filepath.Join(w.Dir, filepath.FromSlash(path.Dir(r.Path)))
			notes = append(notes, fmt.Sprintf("git does not work for the agent in %s: %s; %s", folder, r.Problem, r.Hint))
		}
	}
	return notes
}

// maxSubmodules is how many folders of submodules that are not checked out are
// protected.
const maxSubmodules = 256

// coverSubmodules protects the folders of submodules that are not checked out:
// git on the host looks for a repository in each without being asked, also from
// the folder above, and obeys its configuration.
func (w *Workspace) coverSubmodules() {
	hosts := map[string]string{} // git directories by their .git
	for _, r := range w.Git.Repositories {
		hosts[r.Path] = r.Host
	}
	for _, p := range w.Git.Pointers {
		hosts[p.Path] = p.Dir
	}
	if w.Above != "" {
		if up, err := filepath.Rel(w.Dir, filepath.Join(w.Above, ".git")); err == nil {
			hosts[filepath.ToSlash(up)] = gitdir.HostOf(w.Above)
		}
	}
	var absent []string
	for _, rel := range slices.Sorted(maps.Keys(hosts)) {
		if hosts[rel] == "" {
			continue
		}
		folders, err := gitdir.Submodules(hosts[rel], rel != ".git" && filepath.IsLocal(filepath.FromSlash(rel)))
		if err != nil && !errors.Is(err, gitdir.ErrNoGit) { // else nothing here obeys a repository
			w.Notes = append(w.Notes, fmt.Sprintf("%v: submodules of it that are not checked out are not protected from the agent, and git "+
				"on this machine obeys a repository there", err))
		}
		for _, folder := range folders {
			at, err := filepath.Rel(w.Dir, filepath.Join(w.Dir, filepath.FromSlash(path.Dir(rel)), filepath.FromSlash(folder)))
			if at = filepath.ToSlash(at); err != nil || at == "." || !filepath.IsLocal(at) {
				continue // of the repository above, or no path that git takes
			}
			if _, known := w.before.found[at+"/.git"]; !known { // or it is looked at with the others
				absent = append(absent, at)
			}
		}
	}
	if n := len(absent); n > maxSubmodules {
		w.Notes = append(w.Notes, fmt.Sprintf("%d submodules are not checked out: %s and all later ones are not protected from the agent, "+
			"and git on this machine obeys a repository there", n, absent[maxSubmodules]))
		absent = absent[:maxSubmodules]
	}
	if n := len(absent); n > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("submodules that are not checked out: %d, such as %s; the agent cannot write there; 'git "+
			"submodule update --init' checks them out", n, absent[0]))
	}
	w.Protect = append(w.Protect, absent...)
}

// filterName is a filter in a line of .gitattributes.
var filterName = regexp.MustCompile(`\sfilter=([A-Za-z0-9_.-]+)`)

// gitFilters lists the filters that the project's own .gitattributes names, such as
// lfs: programs of the host's, which the agent's git is not told of.
func gitFilters(dir string) (names []string) {
	text, err := readStart(filepath.Join(dir, ".gitattributes"), maxConfig)
	if kind, kindErr := KindOf(filepath.Join(dir, ".gitattributes")); err != nil || kindErr != nil || kind != File {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if found := filterName.FindStringSubmatch(line); found != nil && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			names = union(names, found[1:])
		}
	}
	return names[:min(len(names), 8)]
}

// hostGit is the git directory that the project's own .git is, or leads to and is
// accepted; "" = none.
func (w *Workspace) hostGit() string {
	for _, r := range w.Git.Repositories {
		if r.Path == ".git" && len(r.Stores) > 0 {
			return r.Host
		}
	}
	return ""
}

// hasRepository reports whether git on the host finds a repository in the
// workspace's own .git, and so never looks at the folder around it.
func (w *Workspace) hasRepository() bool {
	kind, isFound := w.before.found[".git"]
	return isFound && (kind != obeyed.GitFolder || gitdir.IsGitDir(filepath.Join(w.Dir, ".git")))
}

// nested lists the repositories below the workspace's own.
func nested(r repositories) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.found)), func(rel string) bool { return rel == ".git" })
}

// gitObeyed lists what git on the host obeys in the repositories, below the
// workspace. The agent cannot write to it there, but a hook may be a link to a
// script of the project, and a file can have another name.
func (w *Workspace) gitObeyed() (rels []string) {
	for _, r := range w.Git.Repositories {
		for _, s := range r.Stores {
			for _, dir := range []string{s.Dir, s.Common} {
				if rel, err := filepath.Rel(w.Dir, dir); err == nil && filepath.IsLocal(rel) {
					rels = union(rels, obeyed.GitPaths(filepath.ToSlash(rel)))
				}
			}
		}
	}
	return rels
}
