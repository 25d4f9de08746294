// Package filelock holds files in a way that ends with the process, however it
// ends: a file that nobody holds belongs to nobody who lives.
//
//	os.File ── Try ──► held until the file is closed | somebody else holds it
//
// The holds are the kernel's: flock(2) on Unix, LockFileEx on Windows. A hold
// belongs to the open file, so a process excludes itself as well.
package filelock
