package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

func fileIDOf(name string) (fileID, error) {
	var s unix.Stat_t
	if err := unix.Stat(name, &s); err != nil {
		return fileID{}, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	return fileID{uint64(s.Dev), s.Ino}, nil //nolint:unconvert // differs between architectures
}
