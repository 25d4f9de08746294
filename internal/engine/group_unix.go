//go:build unix

package engine

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a terminal's signals from a program: Ctrl-C is for the agent, and to
// stop it takes the connection.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
