package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// File is a settings file. It is read once, so that the text that is judged is
// the text that is shown and edited.
type File struct {
	Path     string
	Source   []byte
	Lists    map[string][]byte // the files that its lists name with "@", by these names; nil = none
	Settings *Accepted         // nil when a finding is an error
	Findings []diag.Finding
	Own      Own // ReadOwnFile alone sets it
}

// ParseFile is the file of a text that is at hand, which Parse reads.
func ParseFile(path string, source []byte, read FileReader) *File {
	f := &File{Path: path, Source: source}
	f.Settings, f.Findings = parse(path, source, f.keepLists(read), nil)
	return f
}

// ErrLink reports a symbolic link in the place of a project's settings.
var ErrLink = errors.New("is a symbolic link")

// ReadFile reads and parses the settings at path, with the lists from its folder
// (see DirReader). Mistakes in the text are findings. The error is ErrLink, one
// of the file system's, or that there is no regular file.
//
// A file in a folder .devcontainer is a project's: the code that is sandboxed
// may have put a link there, to be judged by a file of somebody else's or to have
// that changed. So neither the file nor the folder may be a link, and the file
// must be a regular one. Every other path is the user's word, and may be a pipe.
func ReadFile(path string) (*File, error) { return readFile(path, false) }

// ReadOwnFile is ReadFile for the user's own settings, which may say more than others: see Own.
func ReadOwnFile(path string) (*File, error) { return readFile(path, true) }

func readFile(path string, own bool) (*File, error) {
	project, err := projectInfo(path)
	if err != nil {
		return nil, err
	}
	flags := os.O_RDONLY
	if project != nil {
		flags |= syscall.O_NONBLOCK // a pipe that takes its place must not be waited for
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if project != nil {
		if now, err := f.Stat(); err != nil || !os.SameFile(project, now) {
			return nil, errors.Join(err, fmt.Errorf("%s was replaced while it was read", path))
		}
	}
	source, err := io.ReadAll(io.LimitReader(f, jsonc.MaxSize+1)) // Parse refuses one that is larger
	if err != nil {
		return nil, err
	}
	lists := DirReader(filepath.Dir(path))
	if !own {
		return ParseFile(path, source, lists), nil
	}
	file := &File{Path: path, Source: source}
	file.Settings, file.Findings = parse(path, source, file.keepLists(lists), &file.Own)
	return file, nil
}

// maxLists bounds what the lists of one file may hold together, in bytes.
const maxLists = 16 << 20

// keepLists returns a reader that reads every list once and keeps it, so that the
// lists that are judged are the ones that are shown and remembered.
func (f *File) keepLists(read FileReader) FileReader {
	total := 0
	return func(name string) ([]byte, error) {
		if text, ok := f.Lists[name]; ok {
			return text, nil
		}
		text, err := read(name)
		if err != nil {
			return nil, err
		}
		if total += len(text); total > maxLists {
			return nil, fmt.Errorf("the lists are larger than %d bytes together", maxLists)
		}
		if f.Lists == nil {
			f.Lists = map[string][]byte{}
		}
		f.Lists[name] = text
		return text, nil
	}
}

// Err is the first mistake in the text with its place, nil when there is none.
func (f *File) Err() error { return diag.FirstError(f.Findings) }

// projectInfo describes a project's settings file, and refuses links; nil for a
// file that is no project's.
func projectInfo(path string) (fs.FileInfo, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if filepath.Base(filepath.Dir(full)) != ".devcontainer" {
		return nil, nil
	}
	var info fs.FileInfo
	for _, part := range []string{filepath.Dir(path), path} {
		if part == "." {
			part = filepath.Dir(full) // its own name, and not the folder that a link leads to
		}
		if info, err = os.Lstat(part); err != nil {
			return nil, err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return nil, diag.WithHint(fmt.Errorf("%s %w", part, ErrLink), "replace it with a plain file or folder")
		}
	}
	if !info.Mode().IsRegular() {
		return nil, diag.WithHint(fmt.Errorf("%s is not a regular file", path), "put a file there, or remove it")
	}
	return info, nil
}
