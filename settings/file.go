package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// File is a settings file. It is read once, so that the text that is judged is
// the text that is shown and edited.
type File struct {
	Path     string
	Source   []byte
	Settings *Accepted // nil when a finding is an error
	Findings []diag.Finding
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
func ReadFile(path string) (*File, error) {
	project, err := projectInfo(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
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
	s, findings := Parse(path, source, DirReader(filepath.Dir(path)))
	return &File{Path: path, Source: source, Settings: s, Findings: findings}, nil
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
