// Package atomicfile replaces files whole or not at all, so that a program that reads
// one never sees half of it and a failure leaves the old content.
//
//	write -> DIR/.new-* -> mode -> close -> rename to DIR/NAME
package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/org/claude-sandbox/internal/filekind"
)

// ErrNotRegular reports a device, a pipe or a socket in the place of the file.
var ErrNotRegular = errors.New("not a regular file")

// Write lets write fill a new file next to name and then puts it in the place
// of name, with exactly the permissions mode (the umask does not count). A file
// or symbolic link at name is replaced; the target of the link is left alone.
// When anything fails, name is as it was and the new file is gone.
// Nothing is flushed to the disk: this is about readers and failures, not about
// power cuts.
//
// A folder, a device, a pipe or a link to one is refused, before write is
// called: a user who names /dev/stdout wants no file in its place.
func Write(name string, mode fs.FileMode, write func(io.Writer) error) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		why := ErrNotRegular
		if info.IsDir() {
			why = syscall.EISDIR
		}
		return &fs.PathError{Op: "write", Path: name, Err: why}
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return &fs.PathError{Op: "write", Path: name, Err: path.Err} // the new file's name says nothing to the user
	} else if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // once it is renamed, no file of that name is left
	if err := errors.Join(write(f), f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// WriteBytes does the same with content that is in memory.
func WriteBytes(name string, mode fs.FileMode, content []byte) error {
	return Write(name, mode, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// ErrChanged reports a file that holds something else than was read from it.
var ErrChanged = errors.New("it has changed since it was read")

// Replace writes text into the place of a regular file, with its permissions and
// owner, if it still holds old, and fails with ErrChanged if not. A symbolic link is
// ErrNotRegular.
func Replace(name string, old, text []byte) error {
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "write", Path: name, Err: ErrNotRegular}
	}
	if info.Size() != int64(len(old)) {
		return ErrChanged
	}
	now, err := filekind.Read(name, info.Size())
	if err != nil {
		return err
	}
	if !bytes.Equal(now, old) {
		return ErrChanged
	}
	return Write(name, info.Mode().Perm(), func(w io.Writer) error {
		if f, ok := w.(*os.File); ok {
			keepOwner(f, info)
		}
		_, err := w.Write(text)
		return err
	})
}
