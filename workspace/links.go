package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/org/claude-sandbox/internal/pathwalk"
)

// A protected path is often a link to something else of the project, such as
// a hook to a script, or shares a file with it. A read-only mount over the link
// protects nothing: whatever it leads to must not change either.

// linked is what protected paths lead to.
type linked struct {
	dir     string                 // the workspace, absolute, without symbolic links
	protect map[string]bool        // slash-separated paths below dir
	queue   []string               // of protect, that are still to be looked at
	shared  map[string]fs.FileInfo // files with more than one name
	notes   map[string]bool
	left    int // entries that may still be looked at
}

// linkTargets lists what the symbolic links in protected paths point to within
// the workspace, and further names of the same files there. The notes name links
// that the agent can lead elsewhere, because nothing can be mounted over a link
// or over what is missing.
func linkTargets(dir string, protect []string) (targets, notes []string) {
	l := linked{dir: dir, protect: map[string]bool{}, shared: map[string]fs.FileInfo{}, notes: map[string]bool{}, left: scanLimit}
	for _, p := range protect {
		if filepath.IsLocal(filepath.FromSlash(p)) { // workspaceMounts refuses others
			l.add(path.Clean(p))
		}
	}
	for len(l.queue) > 0 {
		p := l.queue[0]
		l.queue = l.queue[1:]
		l.look(p)
	}
	l.otherNames()
	for _, p := range protect {
		delete(l.protect, path.Clean(p))
	}
	for p := range l.protect {
		targets = append(targets, p)
	}
	for n := range l.notes {
		notes = append(notes, n)
	}
	slices.Sort(targets)
	slices.Sort(notes)
	return targets, notes
}

func (l *linked) add(rel string) {
	if !l.protect[rel] {
		l.protect[rel] = true
		l.queue = append(l.queue, rel)
	}
}

// protects reports whether rel is protected, itself or with a folder above it.
func (l *linked) protects(rel string) bool {
	return slices.ContainsFunc(Steps(rel), func(step string) bool { return l.protect[step] })
}

// rel is a path's place below the workspace; ok is false for the workspace
// itself and what is outside.
func (l *linked) rel(file string) (rel string, ok bool) {
	rel, err := filepath.Rel(l.dir, file)
	return filepath.ToSlash(rel), err == nil && rel != "." && filepath.IsLocal(rel)
}

// look follows the links in one protected path. A checkout in it, as a linked
// worktree, is code like the rest of the project.
func (l *linked) look(protected string) {
	top := filepath.Join(l.dir, filepath.FromSlash(protected))
	_ = filepath.WalkDir(top, func(file string, d fs.DirEntry, err error) error {
		if l.left--; l.left < 0 {
			l.notes["not every link in "+protected+" was followed: it holds too much"] = true
			return fs.SkipAll
		}
		rel, ok := l.rel(file)
		switch {
		case err != nil || !ok:
			return nil // what cannot be read is no better known to the host
		case d.IsDir():
			if _, err := os.Lstat(filepath.Join(file, ".git")); err == nil && file != top {
				return fs.SkipDir
			}
		case d.Type()&fs.ModeSymlink != 0:
			l.follow(rel)
		case d.Type().IsRegular():
			if info, err := d.Info(); err == nil && names(info) > 1 {
				l.shared[rel] = info
			}
		}
		return nil
	})
}

// follow adds what the link at rel leads to, and notes where the agent could
// lead it elsewhere.
func (l *linked) follow(link string) {
	at, err := pathwalk.Walk(l.dir, filepath.FromSlash(link), func(entry string, info fs.FileInfo) error {
		if rel, inside := l.rel(entry); info.Mode()&fs.ModeSymlink != 0 && inside && !l.protects(rel) {
			l.note(link, rel, "which is a symbolic link itself: a file that the agent puts in its place")
		}
		return nil
	})
	rel, inside := l.rel(at)
	switch {
	case errors.Is(err, fs.ErrNotExist) && inside && !l.protects(rel):
		l.note(link, rel, "which is missing: a file that the agent writes there")
	case err == nil && inside && !l.protects(rel):
		l.add(rel)
	}
}

func (l *linked) note(link, over, why string) {
	l.notes[fmt.Sprintf("%s leads over %s, %s is obeyed on this machine", link, over, why)] = true
}

// otherNames adds the further names of shared files.
func (l *linked) otherNames() {
	missing := map[string]uint64{}
	for rel, info := range l.shared {
		missing[rel] = names(info) - 1
		for other, same := range l.shared {
			if other != rel && os.SameFile(info, same) {
				missing[rel]--
			}
		}
		if missing[rel] == 0 {
			delete(l.shared, rel)
		}
	}
	if len(l.shared) == 0 {
		return
	}
	left := scanLimit
	_ = filepath.WalkDir(l.dir, func(file string, d fs.DirEntry, err error) error {
		if left--; left < 0 {
			for rel := range l.shared {
				l.notes[rel+" has another name, which was not found: files that the agent writes there are obeyed on this machine"] = true
			}
			return fs.SkipAll
		}
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil || names(info) < 2 {
			return nil
		}
		for _, same := range l.shared {
			if rel, ok := l.rel(file); ok && os.SameFile(info, same) && !l.protects(rel) {
				l.protect[rel] = true
			}
		}
		return nil
	})
}
