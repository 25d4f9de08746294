//go:build unix && !linux

package terminal

import (
	"golang.org/x/sys/unix"
)

const getTermios = unix.TIOCGETA

// forgetTyped drops what was typed and not read.
func forgetTyped(file Input) {
	const read = 1
	_ = unix.IoctlSetPointerInt(int(file.Fd()), unix.TIOCFLUSH, read)
}
