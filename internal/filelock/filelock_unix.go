//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Try holds f until it is closed, and reports whether it could; false = somebody
// else holds it.
func Try(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		}
		return err == nil, os.NewSyscallError("flock", err)
	}
}

// Release ends the hold of f and closes it. A process that this one is about to start has a copy of f until it runs its
// program, and a hold that is not taken back lasts as long.
func Release(f *os.File) error {
	return errors.Join(os.NewSyscallError("flock", unix.Flock(int(f.Fd()), unix.LOCK_UN)), f.Close())
}
