package filekind

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// Open opens the regular file that name leads to. Anything else is an error, and nothing is
// waited for: a project may have a pipe or a device without an end in the place of a file.
func Open(name string) (*os.File, error) {
	f, _, err := open(name)
	return f, err
}

// OpenIn is Open for a slash-separated name below root.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	f, _, err := openIn(root, name)
	return f, err
}

// Read returns the content of the regular file that name leads to. More than limit bytes, as
// in a terabyte of holes, are an error.
func Read(name string, limit int64) ([]byte, error) {
	f, size, err := open(name)
	return content(f, size, err, limit)
}

// ReadIn is Read for a slash-separated name below root.
func ReadIn(root *os.Root, name string, limit int64) ([]byte, error) {
	f, size, err := openIn(root, name)
	return content(f, size, err, limit)
}

// HeadIn is ReadIn of the first limit bytes: of a file that is larger the rest is left out.
func HeadIn(root *os.Root, name string, limit int64) ([]byte, error) {
	f, size, err := openIn(root, name)
	if err != nil {
		return nil, err
	}
	return head(f, size, limit)
}

// ListIn names what a folder below root holds, sorted. Anything else than a folder is an error, and
// nothing is waited for.
func ListIn(root *os.Root, name string) ([]string, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func open(name string) (f *os.File, size int64, err error) {
	f, err = os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return regular(f, err)
}

func openIn(root *os.Root, name string) (f *os.File, size int64, err error) {
	f, err = root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	var place *fs.PathError
	if errors.As(err, &place) && place.Err.Error() == "path escapes from parent" { // package os exports no such error
		err = &fs.PathError{Op: "read", Path: place.Path, Err: ErrOutside}
	}
	return regular(f, err)
}

// ErrNotRegular reports a pipe, a socket, a device or a folder in the place of a file.
var ErrNotRegular = errors.New("it is no regular file")

// ErrOutside reports a link that leads out of the folder that a file has to lie in.
var ErrOutside = errors.New("a link leads out of the project to it")

// regular returns the size of a regular file as well.
func regular(f *os.File, err error) (*os.File, int64, error) {
	var place *fs.PathError
	if errors.Is(err, syscall.ENXIO) && errors.As(err, &place) { // a socket
		err = &fs.PathError{Op: "read", Path: place.Path, Err: ErrNotRegular}
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: ErrNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// content reads and closes a file.
func content(f *os.File, size int64, err error, limit int64) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	text, err := head(f, size, limit+1)
	if err == nil && int64(len(text)) > limit {
		return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: fmt.Errorf("it is larger than %d bytes", limit)}
	}
	return text, err
}

// head reads the first limit bytes of a file and closes it. size is how many it has, as far as that
// was known: one read of so many takes less than several of a buffer that grows.
func head(f *os.File, size, limit int64) ([]byte, error) {
	defer f.Close()
	var text bytes.Buffer
	text.Grow(int(min(size, limit)) + bytes.MinRead)
	_, err := text.ReadFrom(io.LimitReader(f, limit))
	return text.Bytes(), err
}
