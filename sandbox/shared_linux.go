package sandbox

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// bootID is the kernel's id of its start.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func fileIDOf(name string) (fileID, error) {
	var s unix.Stat_t
	if err := unix.Stat(name, &s); err != nil {
		return fileID{}, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	return fileID{uint64(s.Dev), s.Ino}, nil //nolint:unconvert // differs between architectures
}
