// Package filelock holds files in a way that ends with the process, however it
// ends: a file without a lock belongs to no live process.
//
//	os.File ── Try ──► held until the file is closed | somebody else holds it
//
// The holds are the kernel's: flock(2) on Unix, LockFileEx on Windows. A hold
// belongs to the open file, so a process excludes itself as well.
package filelock
