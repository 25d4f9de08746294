package gitdir

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/org/claude-sandbox/internal/diag"
)

// Bounds on what is read of a host's repository.
const (
	maxSmall   = 1 << 20 // bytes of a file that is read as text: HEAD, commondir, a .git file
	maxIndex   = 1 << 30 // of an index, which has some 100 bytes for each file
	maxNested  = 1 << 26 // of the index of a repository in the project, which an earlier run's agent may have made
	maxModules = 64      // git directories of submodules
	maxSteps   = 100_000 // entries that are looked at in search of them
)

// Repository is a git directory of the host's, with those of its submodules.
type Repository struct {
	Path   string  // of its .git below the workspace, slash-separated
	File   bool    // .git is a file: a linked worktree, or a submodule of a repository elsewhere
	Host   string  // the git directory on the host, without symbolic links; "" = git finds none
	Stores []Store // the directory itself comes first; none = the agent gets an empty one, or none
	// Problem says why the agent cannot have one of its own, and Hint how to
	// change that; "" = it can.
	Problem, Hint string
}

// Store is one git directory on the host.
type Store struct {
	Sub      string   // below the repository's own: "", "modules/NAME", "worktrees/NAME"
	Dir      string   // absolute, without symbolic links
	Common   string   // where refs, objects and config are: Dir, or another one if this is a linked worktree
	Checkout string   // of a part: the folder of its files, below the workspace, slash-separated; "" = none there
	Config   []Value  // what the agent's config takes over
	Big      []string // folders with large files of the project's, below Common: lfs/objects, annex/objects
}

// Pointer is a .git file below the workspace.
type Pointer struct {
	Path string // slash-separated
	Dir  string // where it leads on the host, absolute, without symbolic links; "" = nowhere
	Text string // what it says, without "gitdir: "
}

// Facts are what Look found.
type Facts struct {
	Repositories []Repository
	Pointers     []Pointer // that do not stand for a Repository
}

// Look reads what there is to know of the repositories in the workspace dir,
// which is absolute and without symbolic links. folders and files are the .git
// folders and .git files below it, slash-separated; the workspace's own ".git"
// is looked at in any case. Nothing in a repository is obeyed, no symbolic link
// is followed, and git is asked for the text of configurations alone.
func Look(dir string, folders, files []string) Facts {
	l := &looker{dir: dir, left: maxSteps}
	for _, rel := range folders {
		l.facts.Repositories = append(l.facts.Repositories, l.folder(rel))
	}
	for _, rel := range files {
		l.pointer(rel)
	}
	for i := range l.facts.Repositories {
		l.configure(&l.facts.Repositories[i])
	}
	return l.facts
}

type looker struct {
	dir   string
	left  int
	facts Facts
}

// folder looks at a .git folder.
func (l *looker) folder(rel string) Repository {
	r := Repository{Path: rel}
	at := filepath.Join(l.dir, filepath.FromSlash(rel))
	if !IsGitDir(at) {
		return r
	}
	r.Host = at
	if text, err := readSmall(at, "commondir"); err == nil && strings.TrimSpace(text) != "." {
		r.Problem = "its commondir leads to another repository"
		r.Hint = "look at " + filepath.Join(at, "commondir")
		return r
	}
	r.Stores = append(r.Stores, Store{Dir: at, Common: at})
	l.modules(&r, at, "modules")
	l.check(&r)
	return r
}

// modules adds the git directories of submodules. Their names may hold slashes,
// so they can be at any depth, and they can have submodules themselves.
func (l *looker) modules(r *Repository, at, sub string) {
	entries, err := os.ReadDir(filepath.Join(at, "modules"))
	if err != nil {
		return
	}
	l.moduleFolders(r, filepath.Join(at, "modules"), sub, entries)
}

func (l *looker) moduleFolders(r *Repository, folder, sub string, entries []fs.DirEntry) {
	for _, e := range entries {
		if l.left--; l.left < 0 || len(r.Stores) > maxModules {
			return
		}
		if !e.IsDir() {
			continue
		}
		at, sub := filepath.Join(folder, e.Name()), path.Join(sub, e.Name())
		if IsGitDir(at) {
			r.Stores = append(r.Stores, Store{Sub: sub, Dir: at, Common: at})
			l.modules(r, at, path.Join(sub, "modules"))
			continue
		}
		if below, err := os.ReadDir(at); err == nil {
			l.moduleFolders(r, at, sub, below)
		}
	}
}

// pointer looks at a .git file: of a submodule or worktree of a repository that
// is known already, or of one elsewhere.
func (l *looker) pointer(rel string) {
	p := Pointer{Path: rel}
	folder := filepath.Join(l.dir, filepath.FromSlash(path.Dir(rel)))
	if text, err := readSmall(folder, path.Base(rel)); err == nil {
		if leads, ok := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "gitdir: "); ok {
			p.Text = leads
			p.Dir = resolve(folder, leads)
		}
	}
	if p.Dir != "" && IsGitDir(p.Dir) {
		if l.partOfKnown(p) {
			l.facts.Pointers = append(l.facts.Pointers, p)
			return
		}
		l.facts.Repositories = append(l.facts.Repositories, l.elsewhere(p))
		return
	}
	if rel == ".git" {
		l.facts.Repositories = append(l.facts.Repositories, Repository{Path: rel, File: true, Problem: "its .git file leads to no " +
			"repository", Hint: "look at " + filepath.Join(folder, ".git")})
		return
	}
	l.facts.Pointers = append(l.facts.Pointers, p)
}

// partOfKnown reports whether a .git file leads into a repository that is known
// already, and notes whose files are there.
func (l *looker) partOfKnown(p Pointer) bool {
	checkout := path.Dir(p.Path)
	for i := range l.facts.Repositories {
		r := &l.facts.Repositories[i]
		for j := range r.Stores {
			s := &r.Stores[j]
			if s.Dir == p.Dir {
				s.Checkout = checkout
				return true
			}
			if name, ok := worktreeName(s.Common, p.Dir); ok {
				sub := path.Join(s.Sub, "worktrees", name)
				r.Stores = append(r.Stores, Store{Sub: sub, Dir: p.Dir, Common: s.Common, Checkout: checkout})
				l.modules(r, p.Dir, path.Join(sub, "modules"))
				return true
			}
		}
	}
	return false
}

// worktreeName is the name of a linked worktree of the repository at common.
func worktreeName(common, dir string) (string, bool) {
	if filepath.Dir(dir) != filepath.Join(common, "worktrees") {
		return "", false
	}
	return filepath.Base(dir), true
}

// commonOf is where the refs, objects and configuration of a git directory are: itself, or
// another one if it is a linked worktree's; "" if nowhere.
func commonOf(dir string) string {
	text, err := readSmall(dir, "commondir")
	if err != nil {
		return dir
	}
	return resolve(dir, strings.TrimSpace(text))
}

// checkoutOf is the folder of the files of a linked worktree, as its repository says, without
// symbolic links; "" if it says none or the folder is gone.
func checkoutOf(dir string) string {
	text, err := readSmall(dir, "gitdir")
	if err != nil {
		return ""
	}
	return resolve(dir, filepath.Dir(strings.TrimSpace(text)))
}

// MainOf is the folder of which tree, absolute and without symbolic links, is a linked
// worktree: the main one, or the bare repository. It is "" where tree is none, or where the
// repository does not say so too: a .git file is the project's word.
func MainOf(tree string) string {
	dir := HostOf(tree)
	if dir == "" {
		return ""
	}
	common := commonOf(dir)
	if _, linked := worktreeName(common, dir); !linked || checkoutOf(dir) != tree {
		return ""
	}
	if filepath.Base(common) == ".git" {
		return filepath.Dir(common)
	}
	return common
}

// Worktrees lists the folders of the linked worktrees of the repository whose own folder
// common is, as far as they are there.
func Worktrees(common string) (folders []string) {
	entries, _ := os.ReadDir(filepath.Join(common, "worktrees"))
	for _, e := range entries {
		if folder := checkoutOf(filepath.Join(common, "worktrees", e.Name())); folder != "" {
			folders = append(folders, folder)
		}
	}
	return folders
}

// elsewhere looks at a repository outside of the workspace. A .git file may be
// an agent's, made to have another repository of the host shown; so that one
// must say itself that its files are here.
func (l *looker) elsewhere(p Pointer) Repository {
	r := Repository{Path: p.Path, File: true, Host: p.Dir}
	checkout := filepath.Join(l.dir, filepath.FromSlash(path.Dir(p.Path)))
	common := commonOf(p.Dir)
	switch _, linked := worktreeName(common, p.Dir); {
	case linked:
		if checkoutOf(p.Dir) != checkout {
			r.Problem = fmt.Sprintf("%s says that this worktree is elsewhere", p.Dir)
			r.Hint = fmt.Sprintf("say in the main repository where it is: git worktree repair %q", checkout)
			return r
		}
	case common == p.Dir:
		if resolve(p.Dir, configValue(p.Dir, "core.worktree")) != checkout {
			r.Problem = fmt.Sprintf("%s does not say that its files are here", p.Dir)
			r.Hint = "run it on a clone"
			return r
		}
	default:
		r.Problem = fmt.Sprintf("%s leads to another repository", filepath.Join(p.Dir, "commondir"))
		r.Hint = "run it on a clone"
		return r
	}
	r.Stores = append(r.Stores, Store{Dir: p.Dir, Common: common})
	l.modules(&r, p.Dir, "modules")
	l.check(&r)
	return r
}

// check refuses what could not be shown to the agent.
func (l *looker) check(r *Repository) {
	for _, s := range r.Stores {
		limit := int64(maxIndex)
		if r.Path != ".git" {
			limit = maxNested
		}
		problem, hint := s.problem(l.dir, limit)
		if problem != "" {
			r.Problem, r.Hint, r.Stores = problem, hint, nil
			return
		}
	}
}

// problem says why the agent cannot have a store like it, "" for none. index is how
// large its index may be, in bytes.
func (s Store) problem(workspace string, index int64) (problem, hint string) {
	if file := s.endless(index); file != "" {
		return file + " is too large", "look at it, and remove the repository if it is not yours"
	}
	if _, err := os.Lstat(filepath.Join(s.Common, "reftable")); err == nil {
		return "its refs are in the format reftable, which this version does not know", "git refs migrate --ref-format=files"
	}
	objects := filepath.Join(s.Common, "objects")
	if info, err := os.Lstat(objects); err != nil || !info.IsDir() {
		return objects + " is no folder of its own", "run it on a clone"
	}
	text, err := readSmall(s.Common, "objects/info/alternates")
	if errors.Is(err, fs.ErrNotExist) {
		return "", ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			return fmt.Sprintf("it borrows objects of another repository (%s), which the agent must not read", line),
				fmt.Sprintf("let it hold its own: git -C %q repack -a -d && rm %q", workspace, filepath.Join(objects, "info", "alternates"))
		}
	}
	return "", ""
}

// endless names a file that is too large to copy or to read, such as a sparse one
// that an agent left there in an earlier run; "" = none.
func (s Store) endless(index int64) string {
	for name, limit := range map[string]int64{
		filepath.Join(s.Common, "packed-refs"): maxRefFile, filepath.Join(s.Dir, "index"): index,
	} {
		if info, err := os.Lstat(name); err == nil && info.Size() > limit {
			return name
		}
	}
	return ""
}

// configure reads what the agent's configurations take over.
func (l *looker) configure(r *Repository) {
	for i := range r.Stores {
		s := &r.Stores[i]
		var err error
		if s.Config, err = readConfig(s.Common, s.Dir); err != nil {
			r.Problem, r.Hint, r.Stores = err.Error(), cmp.Or(diag.HintOf(err), "look at "+filepath.Join(s.Common, "config")), nil
			return
		}
		for _, big := range []string{lfsObjects, "annex/objects"} {
			if isPlainFolder(s.Common, big) {
				s.Big = append(s.Big, big)
			}
		}
	}
}

// lfsObjects holds the files of Git LFS, in a git directory.
const lfsObjects = "lfs/objects"

// isPlainFolder reports whether name is a folder below dir, without symbolic
// links on the way.
func isPlainFolder(dir, name string) bool {
	return resolve(dir, name) == filepath.Join(dir, filepath.FromSlash(name))
}

// IsGitDir reports whether git could take dir for a git directory.
func IsGitDir(dir string) bool {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return false
	}
	exists := func(name string) bool { _, err := os.Lstat(filepath.Join(dir, name)); return err == nil }
	return exists("HEAD") && (exists("commondir") || exists("objects") && exists("refs"))
}

// resolve is where a path leads that is written in folder, without symbolic
// links; "" if nowhere.
func resolve(folder, name string) string {
	if name == "" {
		return ""
	}
	name = filepath.FromSlash(name)
	if !filepath.IsAbs(name) {
		name = filepath.Join(folder, name)
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return ""
	}
	return real
}

// readSmall reads a regular file below dir, without following links.
func readSmall(dir, name string) (string, error) { return readUpTo(dir, name, maxSmall) }

// readUpTo is readSmall with a limit in bytes; a larger file is an error.
func readUpTo(dir, name string, limit int64) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	return textOf(root, name, limit)
}

// textOf reads a regular file of a folder, at most limit bytes, without following a link
// at its own place.
func textOf(root *os.Root, name string, limit int64) (string, error) {
	f, info, err := openRegular(root, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info.Size() > limit {
		return "", fmt.Errorf("%s is too large", filepath.Join(root.Name(), name))
	}
	text, err := io.ReadAll(io.LimitReader(f, limit))
	return string(text), err
}

// openRegular opens a regular file below root. A symbolic link at its own place
// is refused; root refuses those on the way that lead out.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	name = filepath.FromSlash(name)
	before, err := root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() { // to open a pipe would take for ever
		return nil, nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("no regular file")}
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe may have come in its place
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("it changed meanwhile")}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Usable reports whether the agent has git in any of the repositories.
func (f Facts) Usable() bool {
	return slices.ContainsFunc(f.Repositories, func(r Repository) bool { return len(r.Stores) > 0 })
}

// Paths lists every .git that a layout covers, below the workspace.
func (f Facts) Paths() (rels []string) {
	for _, r := range f.Repositories {
		rels = append(rels, r.Path)
	}
	for _, p := range f.Pointers {
		rels = append(rels, p.Path)
	}
	return rels
}

// Covers reports whether a path of the workspace is a .git that a layout covers,
// or in one.
func (f Facts) Covers(rel string) bool {
	return slices.ContainsFunc(f.Paths(), func(own string) bool { return rel == own || strings.HasPrefix(rel, own+"/") })
}
