package terminal

import (
	"golang.org/x/sys/unix"
)

const getTermios = unix.TCGETS

// forgetTyped drops what was typed and not read.
func forgetTyped(file Input) { _ = unix.IoctlSetInt(int(file.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
