package filekind

import (
	"fmt"
	"os"
	"syscall"
)

// Identity tells a folder from another one that takes its place later, by its inode
// and its time of birth.
// "0" = it cannot be looked at.
func Identity(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return "0"
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "0"
	}
	return fmt.Sprintf("%x-%x.%x", s.Ino, s.Birthtimespec.Sec, s.Birthtimespec.Nsec)
}
