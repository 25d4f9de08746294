//go:build unix

package doctor

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// free is how many bytes a user's files may take on a folder's file system.
func free(folder string) uint64 {
	var s unix.Statfs_t
	if unix.Statfs(folder, &s) != nil {
		return ^uint64(0)
	}
	return uint64(s.Bavail) * uint64(s.Bsize) //nolint:unconvert // differs between systems
}

func mayWrite(folder string) error {
	if err := unix.Access(folder, unix.W_OK|unix.X_OK); err != nil {
		return &fs.PathError{Op: "writing to", Path: folder, Err: err}
	}
	return nil
}
