//go:build !linux

package resolver

import "syscall"

// Sandboxes are on Linux. Elsewhere the package only compiles.
func enlargeBuffer(syscall.RawConn, int)      {}
func droppedDatagrams(syscall.RawConn) uint32 { return 0 }
