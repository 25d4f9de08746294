package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// shimCommand is the hidden command that run starts itself with. It becomes
// CMD: the privileges of a running Go program cannot be dropped between fork
// and exec, so a process of its own does it.
const shimCommand = "shim"

// shimArgs is the command line of the shim for an account and a command.
func shimArgs(a account, command []string) []string {
	groups := make([]string, len(a.groups))
	for i, g := range a.groups {
		groups[i] = strconv.Itoa(g)
	}
	args := []string{"sbx-init", shimCommand, strconv.Itoa(a.uid), strconv.Itoa(a.gid), strings.Join(groups, ","), "--"}
	return append(args, command...)
}

// shim drops every privilege and executes CMD in its own place. It returns
// only when that failed; nothing of CMD has run then.
func (p *program) shim(args []string) error {
	ids, command, found := splitCommand(args)
	if !found || len(ids) != 3 || len(command) == 0 {
		return usageError("unknown command %q", shimCommand)
	}
	var a account
	var err1, err2, err3 error
	a.uid, err1 = parseID(ids[0])
	a.gid, err2 = parseID(ids[1])
	for _, g := range strings.FieldsFunc(ids[2], func(r rune) bool { return r == ',' }) {
		gid, err := parseID(g)
		a.groups, err3 = append(a.groups, gid), errors.Join(err3, err)
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	if a.uid == 0 {
		return errors.New("CMD must not run as root")
	}

	runtime.LockOSThread() // privileges belong to threads, and this one executes CMD
	if err := dropPrivileges(a); err != nil {
		return err
	}
	return becomeCommand(command)
}

// becomeCommand executes a command in the place of this process, without what
// confine refuses. The calling thread must be locked and have no_new_privs.
func becomeCommand(command []string) error {
	if err := confine(); err != nil {
		return err
	}
	if err := closeOnExec(); err != nil {
		return err
	}
	path, err := exec.LookPath(command[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return commandError(command[0], err)
	}
	return commandError(command[0], syscall.Exec(path, command, os.Environ()))
}

// commandError gives an error about CMD the exit code that shells use.
func commandError(name string, err error) error {
	code := exitNoExec
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		code = exitNotFound
	}
	var inner *exec.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return exitWith(code, fmt.Errorf("starting %s: %w", name, err))
}

// closeOnExec keeps every descriptor but the standard streams from CMD. Ours
// are marked already; this is for those that whoever started us left open.
func closeOnExec() error {
	err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	// Kernels before 5.11 do not know the flag.
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("listing our descriptors: %w", err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}
