//go:build !linux

package keys

// closeMemory does nothing: macOS and Windows guard the memory of processes
// themselves, by entitlements and by access rights.
func closeMemory() {}
