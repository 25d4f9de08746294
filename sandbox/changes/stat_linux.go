package changes

import (
	"io/fs"
	"os"
	"syscall"
)

func (n *node) system(info fs.FileInfo) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		n.ctime = s.Ctim.Nano()
		n.id = fileID{uint64(s.Dev), s.Ino} //nolint:unconvert // Dev differs between architectures
		n.links = uint32(s.Nlink)
	}
}

// isInMemory reports whether a file is on tmpfs; where it cannot be told it may be.
func isInMemory(f *os.File) bool {
	const tmpfs = 0x01021994 // TMPFS_MAGIC in linux/magic.h
	var s syscall.Statfs_t
	return syscall.Fstatfs(int(f.Fd()), &s) != nil || int64(s.Type) == tmpfs //nolint:unconvert // differs between architectures
}
