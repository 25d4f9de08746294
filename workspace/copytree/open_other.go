//go:build unix && !linux

package copytree

import "golang.org/x/sys/unix"

// openBelow opens a folder of a folder, also one that is closed to its owner: no link, and
// no other file system.
func openBelow(folder int, name string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(folder, name, flags, 0)
	if err == unix.EACCES && unix.Fchmodat(folder, name, 0o700, unix.AT_SYMLINK_NOFOLLOW) == nil {
		fd, err = unix.Openat(folder, name, flags, 0)
	}
	if err == nil {
		err = sameDevice(folder, fd)
	}
	return fd, err
}
