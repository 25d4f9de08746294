//go:build unix

package terminal

import (
	"io"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Rescue returns a function for Server.Serve that makes the terminal in and out as it is
// now, for a Client that has it and is killed. It writes what it is called with, and ends
// the raw mode unless a shell has taken that back already. nil = they are no terminal.
func Rescue(in Input, out Output) func(undo string) {
	before, err := term.GetState(int(in.Fd()))
	if err != nil || !term.IsTerminal(int(out.Fd())) {
		return nil
	}
	return func(undo string) {
		_, _ = io.WriteString(out, undo)
		if now, err := unix.IoctlGetTermios(int(in.Fd()), getTermios); err == nil && now.Oflag&unix.OPOST == 0 {
			_ = term.Restore(int(in.Fd()), before)
		}
	}
}
