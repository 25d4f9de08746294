//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// onReadOnly reports whether the file system that dir is on is read-only.
func onReadOnly(dir string) bool { return errors.Is(unix.Access(dir, unix.W_OK), unix.EROFS) }

// Owner returns who owns a file.
func Owner(info fs.FileInfo) (uid, gid int) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), int(st.Gid)
	}
	return -1, -1
}

// names returns how many names a file has (hard links).
func names(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
