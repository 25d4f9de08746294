package copytree

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openBelow opens a folder of a folder, also one that is closed to its owner: no link, and
// nothing that is mounted there. The name is looked up once, so that whoever puts a link
// in its place has nothing behind it changed.
func openBelow(folder int, name string) (int, error) {
	fd, err := findBelow(folder, name)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return -1, err
	}
	if stat.Mode&0o700 != 0o700 { // fchmod refuses O_PATH; what stays closed is told by the next line
		_ = os.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700)
	}
	return unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// findBelow opens a folder of a folder for its name alone, which needs no right to read it.
func findBelow(folder int, name string) (int, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat2(folder, name, &unix.OpenHow{Flags: flags,
		Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH})
	if !errors.Is(err, unix.ENOSYS) {
		return fd, err
	}
	if fd, err = unix.Openat(folder, name, flags, 0); err == nil { // before Linux 5.6
		err = sameDevice(folder, fd)
	}
	return fd, err
}
