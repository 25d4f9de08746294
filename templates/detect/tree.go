package detect

import (
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/org/claude-sandbox/internal/filekind"
)

// Bounds of what is looked at. The time of init must not depend on how much a
// repository holds.
const (
	maxFolders = 8192     // folders that are listed
	maxEntries = 4096     // entries that are listed of one folder
	maxAll     = 50_000   // entries that are listed of all folders
	maxSame    = 64       // files of one name that are kept
	maxWeight  = 64 << 10 // bytes that one source file counts; a generated one decides nothing
	maxRead    = 1 << 20  // bytes of one file
	maxTotal   = 8 << 20  // bytes of all files
)

// tree reads below one folder and never leaves it: os.Root refuses symbolic
// links that lead out, and links as such are passed over.
type tree struct {
	root   *os.Root
	files  map[string][]string // the files of each name that somebody asks for, those of upper folders first
	weight map[string]int64    // bytes of the files whose names end so
	left   int                 // bytes that may still be read
	cut    bool                // a bound was met
}

// openTree lists the folders below dir, the upper ones first. known says which names
// of files matter; "*.x" is any that ends so.
func openTree(dir string, known []string) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	t := &tree{root: root, left: maxTotal, files: map[string][]string{}, weight: map[string]int64{}}
	for _, name := range known {
		t.files[name] = nil
	}
	entries := maxAll
	for folders, at := []string{"."}, 0; at < len(folders); at++ {
		if at == maxFolders || entries <= 0 {
			t.cut = true
			break
		}
		list := t.list(folders[at])
		entries -= len(list)
		for _, e := range list {
			name := path.Join(folders[at], e.Name())
			switch {
			case e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(skipped, e.Name()):
				folders = append(folders, name)
			case e.Type().IsRegular():
				t.add(name, e)
			}
		}
	}
	return t, nil
}

func (t *tree) close() { t.root.Close() }

// skipped folders hold other people's packages, examples, or what a build made.
var skipped = []string{"node_modules", "vendor", "target", "dist", "build", "testdata", "third_party",
	"docs", "doc", "examples", "example", "fixtures", "__fixtures__"}

// add counts a file, and keeps its name if it matters.
func (t *tree) add(name string, e fs.DirEntry) {
	end := path.Ext(name)
	for _, key := range []string{path.Base(name), "*" + end} {
		if list, known := t.files[key]; known && len(list) < maxSame {
			t.files[key] = append(list, name)
		}
	}
	if sourceEnds[end] {
		if info, err := e.Info(); err == nil {
			t.weight[end] += min(info.Size(), maxWeight)
		}
	}
}

// bytesOf returns how much source there is of files that end so.
func (t *tree) bytesOf(ends []string) (sum int64) {
	for _, end := range ends {
		sum += t.weight[end]
	}
	return sum
}

// list returns the entries of a folder, sorted. It looks only at the first
// entries of a huge folder, in the order of the file system.
func (t *tree) list(folder string) []fs.DirEntry {
	f, err := t.root.OpenFile(folder, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries)
	if err != nil && err != io.EOF {
		return nil
	}
	t.cut = t.cut || len(entries) == maxEntries
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}

// names lists the files of a folder, sorted, up to the bound.
func (t *tree) names(folder string) []string {
	if info, err := t.root.Lstat(folder); err != nil || !info.IsDir() {
		return nil
	}
	var out []string
	for _, e := range t.list(folder) {
		if e.Type().IsRegular() {
			out = append(out, e.Name())
		}
	}
	return out
}

// has reports whether name is a regular file, and no link to one.
func (t *tree) has(name string) bool {
	info, err := t.root.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// read returns the beginning of a regular file, or nothing.
func (t *tree) read(name string) []byte {
	if !t.has(name) {
		return nil
	}
	f, err := filekind.OpenIn(t.root, name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(min(maxRead, t.left))))
	if err != nil {
		return nil
	}
	t.left -= len(text)
	t.cut = t.cut || len(text) == maxRead || t.left == 0
	return text
}

// each calls visit for every existing file of that name. One in a folder of its own,
// as .cargo/config.toml, is looked for in the project's own folder.
func (t *tree) each(name string, visit func(file string)) {
	if strings.Contains(name, "/") {
		if t.has(name) {
			visit(name)
		}
		return
	}
	for _, file := range t.files[name] {
		visit(file)
	}
}
