// Package foldtest mounts a folder once more, as a file system that does not tell
// upper from lower case and keeps names as they were written, like the shared
// folders of macOS and Windows. It needs root and FUSE.
//
//	folder on this machine ◄── Mount ──► the same folder, .GIT leads to .git
package foldtest
