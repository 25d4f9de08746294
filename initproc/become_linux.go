package initproc

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

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// Exit codes of a command that could not be started, as shells have them.
const (
	ExitNoExec   = 126 // it exists but cannot be executed
	ExitNotFound = 127 // it does not exist
)

// IDs are the account's numbers as arguments: UID, GID and the groups, separated
// by commas. ParseIDs reads them again.
func (a Account) IDs() []string {
	groups := make([]string, len(a.Groups))
	for i, g := range a.Groups {
		groups[i] = strconv.Itoa(g)
	}
	return []string{strconv.Itoa(a.UID), strconv.Itoa(a.GID), strings.Join(groups, ",")}
}

// ParseIDs reads the arguments that IDs made. It errs for root.
func ParseIDs(args []string) (a Account, err error) {
	if len(args) != 3 {
		return Account{}, errors.New("want UID, GID and groups")
	}
	var err1, err2, err3 error
	a.UID, err1 = parseID(args[0])
	a.GID, err2 = parseID(args[1])
	for _, g := range strings.FieldsFunc(args[2], func(r rune) bool { return r == ',' }) {
		gid, err := parseID(g)
		a.Groups, err3 = append(a.Groups, gid), errors.Join(err3, err)
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		return Account{}, err
	}
	if a.UID == 0 {
		return Account{}, errors.New("the command must not run as root")
	}
	return a, nil
}

// Become drops every privilege, becomes the account and executes the command in
// the place of this process. It returns only when that failed; nothing of the
// command has run then. The privileges of a running Go program cannot be dropped
// between fork and exec, so a process of its own does it.
func Become(a Account, command []string) error {
	runtime.LockOSThread() // privileges belong to threads, and this one executes the command
	if err := dropPrivileges(a); err != nil {
		return err
	}
	return execute(command)
}

// BecomeConfined proves that this process, below Shield, has no privilege, and
// executes the command in its place. It returns only when that failed; nothing
// of the command has run then.
func BecomeConfined(command []string) error {
	runtime.LockOSThread() // a filter belongs to threads, and this one executes the command
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return fmt.Errorf("proving that there are no privileges: %w", err)
	}
	if err := provePowerless(string(status), Account{UID: os.Getuid(), GID: os.Getgid()}); err != nil {
		return diag.WithHint(err, "start the container as an unprivileged user without any capability (--cap-drop ALL)")
	}
	if err := setSignals(signalDefault); err != nil { // an ignored signal would stay so for the command
		return err
	}
	return execute(command)
}

// execute executes a command in the place of this process, without the system
// calls that refuseUnfiltered takes. The calling thread must be locked and have
// no_new_privs.
func execute(command []string) error {
	if err := refuseUnfiltered(); err != nil {
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

// commandError gives an error about the command the exit code that shells use.
func commandError(name string, err error) error {
	code := ExitNoExec
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		code = ExitNotFound
	}
	var inner *exec.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return exitcode.With(code, fmt.Errorf("starting %s: %w", name, err))
}

// closeOnExec keeps every descriptor but the standard streams from the command.
// Ours are marked already; this is for those that the engine left open.
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
