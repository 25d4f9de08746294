// Package filekind tells what a path that a person named is: a file or a folder.
// It follows symbolic links; what cannot be looked at is neither.
package filekind

import "os"

// IsRegular reports whether name leads to a regular file.
func IsRegular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// IsFolder reports whether name leads to a folder.
func IsFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
