package changes

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// fileID names a file while it exists; the zero value where a system has none.
type fileID struct{ dev, ino uint64 }

// node is one entry of a folder as it was at a moment, with what it holds.
type node struct {
	name   string
	what   What
	mode   uint32 // as State.Mode
	links  uint32 // names of the file
	size   int64
	mtime  int64 // nanoseconds since 1970
	ctime  int64 // alike; mtime where a system has none
	id     fileID
	target string // of a symbolic link
	kids   []node // of a folder, sorted by name
	listed bool   // the folder was read to its end
}

// newNode describes an entry. ctime and id depend on the system.
func newNode(name string, info fs.FileInfo) node {
	n := node{name: name, what: whatOf(info.Mode()), mode: unixMode(info.Mode()), size: info.Size(), mtime: info.ModTime().UnixNano(),
		links: 1}
	n.ctime = n.mtime
	n.system(info)
	if n.what != File {
		n.size = 0
	}
	return n
}

// ChangedAt is when the kernel last noted a change of a file, as Change.When.
func ChangedAt(info fs.FileInfo) int64 {
	n := newNode(info.Name(), info)
	return n.ctime
}

// state is what a Change says of the entry.
func (n *node) state() *State {
	return &State{What: n.what, Mode: n.mode, Size: n.size, Target: n.target}
}

// kid finds an entry of a folder.
func (n *node) kid(name string) *node {
	if n == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(n.kids, name, func(k node, name string) int { return strings.Compare(k.name, name) })
	if !ok {
		return nil
	}
	return &n.kids[i]
}

// at finds an entry by its path, "." for the root.
func (n *node) at(rel string) *node {
	if rel == "." {
		return n
	}
	for _, name := range strings.Split(rel, "/") {
		if n = n.kid(name); n == nil {
			return nil
		}
	}
	return n
}

// count adds up the files below a folder.
func (n *node) count() (files int, bytes int64) {
	for i := range n.kids {
		k := &n.kids[i]
		if k.what == Folder {
			f, b := k.count()
			files, bytes = files+f, bytes+b
			continue
		}
		files, bytes = files+1, bytes+k.size
	}
	return files, bytes
}

// each calls do for every entry below a folder, with its path. A folder comes
// before what it holds.
func (n *node) each(rel string, do func(rel string, k *node)) {
	for i := range n.kids {
		k := &n.kids[i]
		at := join(rel, k.name)
		do(at, k)
		k.each(at, do)
	}
}

// join is path.Join for names that are no paths, such as those with a
// backslash, or of "." and "..", which no folder lists.
func join(folder, name string) string {
	if folder == "." {
		return name
	}
	return folder + "/" + name
}

// dirOf is the folder of a path, "." for the root.
func dirOf(rel string) string { return path.Dir(rel) }
