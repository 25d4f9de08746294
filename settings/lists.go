package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// FileReader returns the content of a file that a list names as "@name". The
// name is as written, relative to the settings file.
type FileReader func(name string) ([]byte, error)

// NoFiles is the FileReader for settings that came without a folder, such as
// those from standard input: every "@name" entry is an error.
func NoFiles(string) ([]byte, error) {
	return nil, errors.New("these settings came without a folder to look in")
}

// DirReader reads list files below dir. A name that leads out of dir, also by
// a symbolic link, is refused: the settings may belong to the code that is
// being sandboxed, and whoever reads them may see more than it.
func DirReader(dir string) FileReader {
	return func(name string) ([]byte, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return filekind.ReadIn(root, name, jsonc.MaxSize)
	}
}

// entry is one text of a list with where it stands.
type entry struct {
	text  string
	place place
}

// list reads an array of texts, with the lines of "@name" files in their place.
func (d *decoder) list(n *jsonc.Node) []entry {
	var out []entry
	d.each(n, func(e *jsonc.Node) {
		if d.text(e, new(string)) {
			out = append(out, d.expand(e)...)
		}
	})
	return out
}

// unread says why a list was not read, without the words of a system call.
func unread(err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such file")
	case errors.As(err, &path):
		return path.Err
	}
	return err
}

// expand returns the text of n, or the lines of the file that it names.
func (d *decoder) expand(n *jsonc.Node) []entry {
	name, isFile := listFile(n.Text)
	if !isFile {
		return []entry{{n.Text, d.placeOf(n)}}
	}
	if d.lines > maxLines {
		return nil // said once
	}
	content, err := d.read(name)
	if err != nil {
		d.node(n, RuleListFile, fmt.Sprintf("%s: cannot read the list %q: %v", n.Where(), name, unread(err)),
			"the file must lie next to the settings or below")
		return nil
	}
	doc := jsonc.Text(filepath.Join(filepath.Dir(d.doc.File), filepath.FromSlash(name)), content)
	var out []entry
	for at, text := range listLines(content) {
		if d.lines++; d.lines > maxLines {
			d.value(n, RuleListFile, tooManyLines())
			return nil
		}
		out = append(out, entry{text, place{doc, at, at + len(text), n.Pointer}})
	}
	return out
}
