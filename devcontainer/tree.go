package devcontainer

import (
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
type disk struct{ root *os.Root }

func (d disk) Read(name string) ([]byte, error) {
	return filekind.HeadIn(d.root, name, jsonc.MaxSize+1)
}

func (d disk) Kind(name string) Kind {
	info, err := d.root.Stat(filepath.FromSlash(name))
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
	entries, _ := fs.ReadDir(d.root.FS(), dir)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
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
	info, err := d.root.Stat(filepath.FromSlash(name))
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
	if len(m.List(name)) > 0 {
		return Folder
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

// LeavesTree reports whether a cleaned name leads out of the tree.
func LeavesTree(name string) bool {
	return name == ".." || strings.HasPrefix(name, "../") || path.IsAbs(name)
}
