package templates

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
)

// ErrExists reports files that are in the way and are not to be overwritten.
var ErrExists = errors.New("already exists")

// InTheWay returns the paths of files that exist below dir, in order, and an
// error when one of them or a folder on the way is a symbolic link: what is
// written there would land elsewhere.
func InTheWay(dir string, files []File) ([]string, error) {
	var found []string
	for _, f := range files {
		steps := strings.Split(f.Path, "/")
		for i := range steps {
			p := filepath.Join(dir, filepath.Join(steps[:i+1]...))
			info, err := os.Lstat(p)
			if errors.Is(err, fs.ErrNotExist) {
				break
			}
			if err != nil {
				return nil, err
			}
			isLast := i == len(steps)-1
			switch {
			case info.Mode()&fs.ModeSymlink != 0:
				return nil, diag.WithHint(fmt.Errorf("%s is a symbolic link", p), "remove the link; files are not written through one")
			case !isLast && !info.IsDir():
				return nil, diag.WithHint(fmt.Errorf("%s is not a folder", p), "move it away: files are to be written into a folder of that name")
			case isLast && !info.Mode().IsRegular():
				return nil, diag.WithHint(fmt.Errorf("%s is not a regular file", p), "move it away: a file of that name is to be written")
			case isLast:
				found = append(found, f.Path)
			}
		}
	}
	return found, nil
}

// WriteFiles writes files below dir, all or none. Without overwrite it fails
// with ErrExists when one of them is there. Everything is staged and flushed
// inside dir first. A folder that is new then appears by a single rename; in
// one that exists each file is renamed into place, and if that fails, the
// earlier ones are taken back.
func WriteFiles(dir string, files []File, overwrite bool) (err error) {
	existing, err := InTheWay(dir, files)
	if err != nil {
		return err
	}
	if len(existing) > 0 && !overwrite {
		return fmt.Errorf("%s %w", strings.Join(existing, ", "), ErrExists)
	}
	stage, err := os.MkdirTemp(dir, ".sbx-init-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	if folder, ok := newFolder(dir, files); ok {
		return writeFolder(dir, stage, folder, files)
	}
	for i, f := range files {
		if err := writeSynced(staged(stage, "new", i), f.Content); err != nil {
			return fmt.Errorf("staging %s: %w", f.Path, err)
		}
	}
	return swap(dir, stage, files)
}

// newFolder returns the folder that holds all files, if there is one and it
// does not exist yet.
func newFolder(dir string, files []File) (folder string, ok bool) {
	for i, f := range files {
		first, _, below := strings.Cut(f.Path, "/")
		if !below || i > 0 && first != folder {
			return "", false
		}
		folder = first
	}
	_, err := os.Lstat(filepath.Join(dir, folder))
	return folder, folder != "" && errors.Is(err, fs.ErrNotExist)
}

func writeFolder(dir, stage, folder string, files []File) error {
	for _, f := range files {
		name := filepath.Join(stage, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := writeSynced(name, f.Content); err != nil {
			return fmt.Errorf("staging %s: %w", f.Path, err)
		}
	}
	return os.Rename(filepath.Join(stage, folder), filepath.Join(dir, folder))
}

func staged(stage, kind string, i int) string {
	return filepath.Join(stage, fmt.Sprintf("%s-%d", kind, i))
}

func writeSynced(name string, content []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// foldersOf returns the folders from dir down to the one that holds the path.
func foldersOf(dir, p string) []string {
	var out []string
	steps := strings.Split(p, "/")
	for i := 1; i < len(steps); i++ {
		out = append(out, filepath.Join(dir, filepath.Join(steps[:i]...)))
	}
	return out
}

// swap moves the staged files to their places and keeps what was there until
// all have arrived.
func swap(dir, stage string, files []File) (err error) {
	var undo []func() error
	defer func() {
		if err == nil {
			return
		}
		for i := len(undo) - 1; i >= 0; i-- {
			err = errors.Join(err, undo[i]())
		}
	}()
	for i, f := range files {
		target := filepath.Join(dir, filepath.FromSlash(f.Path))
		for _, folder := range foldersOf(dir, f.Path) {
			if made := os.Mkdir(folder, 0o755); made == nil {
				undo = append(undo, func() error { return os.Remove(folder) })
			} else if !errors.Is(made, fs.ErrExist) {
				return made
			}
		}
		old := staged(stage, "old", i)
		switch moved := os.Rename(target, old); {
		case moved == nil:
			undo = append(undo, func() error { return os.Rename(old, target) })
		case !errors.Is(moved, fs.ErrNotExist):
			return moved
		}
		if err := os.Rename(staged(stage, "new", i), target); err != nil {
			return err
		}
		undo = append(undo, func() error { return os.Remove(target) })
	}
	return nil
}
