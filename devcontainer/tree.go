package devcontainer

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Tree is the repository around a configuration, as far as rules look at it.
// Names are slash-separated and relative to its root; what lies outside the
// root does not exist.
type Tree interface {
	// Read returns at most jsonc.MaxSize+1 bytes of a file; the error wraps
	// fs.ErrNotExist when there is no such file.
	Read(name string) ([]byte, error)
	// Kind says what a name is.
	Kind(name string) Kind
	// List names the entries of a folder, sorted; nothing when it is no folder.
	List(dir string) []string
}

// Kind says what stands behind a name of a Tree.
type Kind int

// The kinds. Anything that is neither file nor folder counts as Nothing.
const (
	Nothing Kind = iota
	File
	Folder
)

// disk is a folder of this machine. Links that lead out of it are not
// followed, so that a repository cannot have other files quoted.
type disk struct {
	root *os.Root
	// folder is dir, opened: of the names most lie in it, and each is found in one step from
	// there. nil = it is not.
	dir    string
	folder *os.Root
}

// in calls look for a name, from the folder where that is enough. A link there may lead to
// another place of the tree.
func (d disk) in(name string, look func(root *os.Root, name string) error) error {
	if d.folder != nil && path.Dir(name) == d.dir {
		if err := look(d.folder, path.Base(name)); err == nil || errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return look(d.root, filepath.FromSlash(name))
}

func (d disk) Read(name string) (text []byte, err error) {
	err = d.in(name, func(root *os.Root, name string) (err error) {
		text, err = filekind.HeadIn(root, name, jsonc.MaxSize+1)
		return err
	})
	return text, err
}

func (d disk) stat(name string) (info fs.FileInfo, err error) {
	err = d.in(name, func(root *os.Root, name string) (err error) {
		info, err = root.Stat(name)
		return err
	})
	return info, err
}

// absent reports whether nothing at all has that name, not even a link.
func (d disk) absent(name string) bool {
	return errors.Is(d.in(name, func(root *os.Root, name string) error {
		_, err := root.Lstat(name)
		return err
	}), fs.ErrNotExist)
}

func (d disk) Kind(name string) Kind {
	info, err := d.stat(name)
	switch {
	case err != nil:
		return Nothing
	case info.IsDir():
		return Folder
	case info.Mode().IsRegular():
		return File
	}
	return Nothing
}

func (d disk) List(dir string) []string {
	names, _ := filekind.ListIn(d.root, dir)
	return names
}

// Executable reports whether somebody may execute a file, where the tree knows that:
// Windows has no such mode, and a text in memory neither.
func Executable(t Tree, name string) (yes, known bool) {
	d, ok := t.(interface{ executable(string) (bool, bool) })
	if !ok {
		return false, false
	}
	return d.executable(name)
}

func (d disk) executable(name string) (yes, known bool) {
	info, err := d.stat(name)
	if err != nil || runtime.GOOS == "windows" {
		return false, false
	}
	return info.Mode().Perm()&0o111 != 0, true
}

// Memory is a Tree of files that are not on disk, by name. A folder exists
// when a file lies in it.
type Memory map[string]string

// Read returns the file's text.
func (m Memory) Read(name string) ([]byte, error) {
	text, ok := m[name]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

// Kind says what name is.
func (m Memory) Kind(name string) Kind {
	if _, ok := m[name]; ok {
		return File
	}
	below := name + "/"
	for file := range m {
		if name == "." || strings.HasPrefix(file, below) {
			return Folder
		}
	}
	return Nothing
}

// List names the entries of dir.
func (m Memory) List(dir string) []string {
	seen := map[string]bool{}
	for name := range m {
		rest, ok := strings.CutPrefix(name, dir+"/")
		if dir == "." {
			rest, ok = name, true
		}
		if ok {
			first, _, _ := strings.Cut(rest, "/")
			seen[first] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// listed is a Tree that reads each folder and looks for each name once: a file of somebody else's can make rules ask
// for the same one very often. It is not safe for concurrent use.
type listed struct {
	Tree
	lists map[string][]string
	kinds map[string]Kind
}

func (l listed) Kind(name string) Kind {
	kind, known := l.kinds[name]
	if !known {
		kind = l.Tree.Kind(name)
		l.kinds[name] = kind
	}
	return kind
}

func (l listed) List(dir string) []string {
	list, known := l.lists[dir]
	if !known {
		list = l.Tree.List(dir)
		l.lists[dir] = list
	}
	return list
}

func (l listed) executable(name string) (yes, known bool) { return Executable(l.Tree, name) }

func (l listed) absent(name string) bool { return isAbsent(l.Tree, name) }

// HasEntry reports whether a folder of the tree lists a name, whatever stands behind it: a link that leads nowhere, too.
func HasEntry(t Tree, name string) bool {
	_, has := slices.BinarySearch(t.List(path.Dir(name)), path.Base(name))
	return has
}

// LeavesTree reports whether a cleaned name leads out of the tree.
func LeavesTree(name string) bool {
	return name == ".." || strings.HasPrefix(name, "../") || path.IsAbs(name)
}
