package volumes

import (
	"fmt"
	"os"
	"syscall"
)

// identity tells a folder from another one that takes its place later, by its inode
// and its time of birth.
func identity(_ string, info os.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "0"
	}
	return fmt.Sprintf("%x-%x.%x", s.Ino, s.Birthtimespec.Sec, s.Birthtimespec.Nsec)
}
