// Package diskwatch limits, from inside a container, what its programs put on the host's
// disks: the project and the volumes that the run can write. It is linked into sbx-init.
//
//	Start ──► mountinfo ──► the writable file systems on disks, and how full each one is
//	Await ──► statfs, once a second: fuller by more than the limit?
//	            └─► walk: how much lies in what changed since Start ──► more than the limit: it returns
//
// A quota would be exact, and few file systems have one for a folder. Other programs of
// the host fill the same disks, so that a fuller disk is only the reason to count; and to
// count costs as much as there are files, so nothing is counted before. A file that was
// removed while a program holds it open is on the disk and counted, if the program does
// not hide it: with a process that is not dumpable, or a mapping alone. Files in memory
// (tmpfs) belong to the limit of memory.
package diskwatch
