// Package filekind tells what a path that a person named is: a file or a folder.
// It follows symbolic links; what cannot be looked at is neither.
package filekind

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// IsRegular reports whether name leads to a regular file.
func IsRegular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// IsFolder reports whether name leads to a folder.
func IsFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// Read returns the content of the regular file that name leads to, of at most limit bytes.
// Anything else is an error, and nothing is waited for: a project may have a pipe, a device
// without an end or a terabyte of holes in the place of a file.
func Read(name string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("it is no regular file")}
	case info.Size() > limit:
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has more than %d bytes", limit)}
	}
	return io.ReadAll(io.LimitReader(f, limit))
}
