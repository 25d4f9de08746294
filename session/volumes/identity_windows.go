package volumes

import (
	"fmt"
	"os"
	"syscall"
)

// identity tells a folder from another one that takes its place later, by its time of
// birth.
func identity(_ string, info os.FileInfo) string {
	data, ok := info.Sys().(*syscall.Win32FileAttributeData)
	if !ok {
		return "0"
	}
	return fmt.Sprintf("%x", data.CreationTime.Nanoseconds())
}
