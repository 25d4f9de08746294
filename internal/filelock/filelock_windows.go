package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try holds f until it is closed, and reports whether it could; false = somebody
// else holds it.
func Try(f *os.File) (bool, error) {
	// A byte far behind all content: on Windows a hold also keeps others from reading.
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("LockFileEx", err)
}

// Release ends the hold of f and closes it.
func Release(f *os.File) error { return f.Close() }
