package initproc

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// Init is the first process of a container, or the one that stands in for it.
// One of Run and Serve is called, once.
type Init struct {
	// Tell shows an error to a person and returns the exit code that it stands for.
	Tell func(error) int
	// Watches end everything when one of them returns; its error says why, and
	// carries the exit code.
	Watches []func() error
	// Failures are told while the command runs, and end Serve; nil = there are none.
	Failures <-chan error
	// Children collects orphans. NewReaper made it before the first program was
	// started that must not be taken for one.
	Children *Reaper
}

// Run starts argv, a command line of this program that becomes the command, with
// the environment env, and calls started. It returns when the command has ended,
// with an error that carries its exit code, nil for 0. When started errs, the
// command is killed.
func (i *Init) Run(argv, env []string, started func() error) error {
	if os.Getpid() != 1 {
		// Orphans come to us, as they do to PID 1.
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("becoming the reaper of orphans: %w", err)
		}
	}
	signals := catchSignals()
	gone := i.endAll()
	tty := foregroundTerminal()
	pid, err := startSelf(argv, env, tty)
	if err != nil {
		return fmt.Errorf("starting the command: %w", err)
	}
	exits := i.Children.reap(pid)
	if err := started(); err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		return err
	}
	return i.attend(pid, signals, exits, gone, tty)
}

// Serve calls started and collects orphans until SIGTERM or SIGINT comes, which
// is no error, a failure comes, or a watch ends.
func (i *Init) Serve(started func() error) error {
	signals := catchSignals()
	exits := i.Children.reap(0)
	gone := i.endAll()
	if err := started(); err != nil {
		return err
	}
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGTERM || s == syscall.SIGINT {
				return nil
			}
		case <-exits: // never: there is no command
		case err := <-gone:
			return allEnded(err, gone)
		case err := <-i.Failures:
			i.Tell(err)
			return exitcode.With(exitcode.Internal, nil)
		}
	}
}

// startSelf starts this program once more, in a process group of its own.
func startSelf(argv, env []string, tty *os.File) (pid int, err error) {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if tty != nil {
		// The terminal's Ctrl-C then reaches the command once, and not us.
		attr = &syscall.SysProcAttr{Foreground: true, Ctty: int(tty.Fd())}
	}
	files := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	child, err := os.StartProcess("/proc/self/exe", argv, &os.ProcAttr{Env: env, Files: files, Sys: attr})
	if err != nil {
		return 0, err
	}
	return child.Pid, nil
}

// attend passes signals on to the command until it has ended, and returns with
// its exit code, or with the error that comes from gone, see endAll.
func (i *Init) attend(pid int, signals <-chan os.Signal, exits <-chan unix.WaitStatus, gone <-chan error, tty *os.File) error {
	if tty != nil {
		defer takeTerminalBack(tty)
	}
	for {
		select {
		case s := <-signals:
			// With ESRCH the command is gone already, and its status comes next.
			if err := syscall.Kill(pid, s.(syscall.Signal)); errors.Is(err, syscall.EPERM) {
				err = fmt.Errorf("passing the signal %q on to the command: %w", s, err)
				i.Tell(diag.WithHint(err, "give the container the capability KILL, so that it can be stopped in order"))
			}
		case status := <-exits:
			select {
			case err := <-gone: // the command ended by it
				return allEnded(err, gone)
			default:
			}
			return exitStatus(status)
		case err := <-gone:
			return allEnded(err, gone)
		case err := <-i.Failures:
			i.Tell(err)
		}
	}
}

// exitStatus turns a wait status into the exit code that shells use.
func exitStatus(status unix.WaitStatus) error {
	code := status.ExitStatus()
	if status.Signaled() {
		code = 128 + int(status.Signal())
	}
	if code == 0 {
		return nil
	}
	return exitcode.With(code, nil)
}

// catchSignals collects every signal that can be passed on. One that was
// ignored when we started stays ignored, for us and for the command.
func catchSignals() <-chan os.Signal {
	signals := make(chan os.Signal, 64)
	const lastSignal = 64
	for n := syscall.Signal(1); n <= lastSignal; n++ {
		switch n {
		case syscall.SIGCHLD, syscall.SIGURG: // the kernel's word to us, and the Go runtime's own
		case syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGTSTP: // about our place at the terminal
		case syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL: // our own faults
		case syscall.SIGPIPE: // about our own output
		default:
			if !signal.Ignored(n) {
				signal.Notify(signals, n)
			}
		}
	}
	return signals
}

// foregroundTerminal opens our controlling terminal when we are in its
// foreground; nil otherwise.
func foregroundTerminal() *os.File {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	if err != nil || group != unix.Getpgrp() {
		tty.Close()
		return nil
	}
	return tty
}

// takeTerminalBack puts our own process group in the foreground again, for
// the program that reads the terminal after us.
func takeTerminalBack(tty *os.File) {
	signal.Ignore(syscall.SIGTTOU) // which the kernel sends for it to a group in the background
	_ = unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCSPGRP, unix.Getpgrp())
}
