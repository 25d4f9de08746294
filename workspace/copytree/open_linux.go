package copytree

import (
	"errors"

	"golang.org/x/sys/unix"
)

// openBelow opens a folder of a folder: no link, and nothing that is mounted there.
func openBelow(folder int, name string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat2(folder, name, &unix.OpenHow{Flags: flags,
		Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH})
	if errors.Is(err, unix.ENOSYS) { // before Linux 5.6
		return openOnDevice(folder, name)
	}
	return fd, err
}
