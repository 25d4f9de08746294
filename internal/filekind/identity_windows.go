package filekind

import (
	"fmt"
	"os"
	"syscall"
)

// Identity tells a folder from another one that takes its place later, by its time of
// birth.
// "0" = it cannot be looked at.
func Identity(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return "0"
	}
	data, ok := info.Sys().(*syscall.Win32FileAttributeData)
	if !ok {
		return "0"
	}
	return fmt.Sprintf("%x", data.CreationTime.Nanoseconds())
}
