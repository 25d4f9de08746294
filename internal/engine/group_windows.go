package engine

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a terminal's signals from a program, as elsewhere.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
