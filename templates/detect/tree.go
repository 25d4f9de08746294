package detect

import (
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Bounds of what is looked at. The time of init must not depend on how much a
// repository holds.
const (
	maxFolders = 64      // folders in which known names are looked for
	maxEntries = 512     // entries that are listed of one folder
	maxRead    = 1 << 20 // bytes of one file
	maxTotal   = 8 << 20 // bytes of all files
)

// tree reads below one folder and never leaves it: os.Root refuses symbolic
// links that lead out, and links as such are passed over.
type tree struct {
	root    *os.Root
	folders []string // "." first, then those that may hold a package of their own
	left    int      // bytes that may still be read
	cut     bool     // a bound was met
}

func openTree(dir string) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	t := &tree{root: root, left: maxTotal}
	t.folders = append([]string{"."}, t.list(".")...)
	for _, first := range t.folders[1:] {
		// packages/NAME, apps/NAME, services/NAME, and the like
		t.folders = append(t.folders, t.list(first)...)
		if len(t.folders) > maxFolders {
			t.folders, t.cut = t.folders[:maxFolders], true
			break
		}
	}
	return t, nil
}

func (t *tree) close() { t.root.Close() }

// skipped folders hold other people's packages, or what a build made.
var skipped = []string{"node_modules", "vendor", "target", "dist", "build", "testdata", "third_party"}

// list returns the folders in folder, sorted. Of a huge folder only the first
// entries are looked at, in the order of the file system.
func (t *tree) list(folder string) []string {
	f, err := t.root.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries)
	if err != nil && err != io.EOF {
		return nil
	}
	t.cut = t.cut || len(entries) == maxEntries
	var out []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(skipped, e.Name()) {
			out = append(out, path.Join(folder, e.Name()))
		}
	}
	slices.Sort(out)
	return out
}

// names lists the files of a folder, sorted, up to the bound.
func (t *tree) names(folder string) []string {
	if info, err := t.root.Lstat(folder); err != nil || !info.IsDir() {
		return nil
	}
	f, err := t.root.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries)
	if err != nil && err != io.EOF {
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out
}

// has reports whether name is a regular file, and no link to one.
func (t *tree) has(name string) bool {
	info, err := t.root.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// read returns the beginning of a regular file, or nothing. A file that is
// swapped for a pipe between the two looks is opened without waiting for a
// writer, and then found out.
func (t *tree) read(name string) []byte {
	if !t.has(name) {
		return nil
	}
	f, err := t.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(min(maxRead, t.left))))
	if err != nil {
		return nil
	}
	t.left -= len(text)
	t.cut = t.cut || len(text) == maxRead || t.left == 0
	return text
}

// each calls visit for every existing file of that name in the tree's folders.
func (t *tree) each(name string, visit func(file string)) {
	for _, folder := range t.folders {
		if file := path.Join(folder, name); fs.ValidPath(file) && t.has(file) {
			visit(file)
		}
	}
}
