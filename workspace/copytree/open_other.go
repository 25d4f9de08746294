//go:build unix && !linux

package copytree

// openBelow opens a folder of a folder: no link, and no other file system.
func openBelow(folder int, name string) (int, error) { return openOnDevice(folder, name) }
