package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/diag"
)

// supervise starts the command, gives up what it no longer needs, lets begin
// start what looks after the firewall, passes signals on, collects orphans and
// returns with the command's exit code.
func (p *program) supervise(w *wall, begin func(), who account, command []string) error {
	if os.Getpid() != 1 {
		// Orphans come to us, as they do to PID 1.
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("becoming the reaper of orphans: %w", err)
		}
	}
	signals := catchSignals()
	gone := endAll(p, w.mounts.await)
	tty := foregroundTerminal()
	pid, err := startChild(shimArgs(who, command), who.environ(os.Environ()), tty)
	if err != nil {
		return fmt.Errorf("starting %s: %w", command[0], err)
	}
	exits := w.children.reap(pid)
	// NET_RAW, too, is for changing rules: iptables needs it to find a set.
	if err := keepOnly(unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_KILL); err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		return err
	}
	begin()
	return p.attend(pid, signals, exits, gone, w.done, tty)
}

// startChild starts this program once more, in a process group of its own.
func startChild(args, env []string, tty *os.File) (pid int, err error) {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if tty != nil {
		// The terminal's Ctrl-C then reaches the command once, and not us.
		attr = &syscall.SysProcAttr{Foreground: true, Ctty: int(tty.Fd())}
	}
	child, err := os.StartProcess("/proc/self/exe", args, &os.ProcAttr{Env: env, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: attr})
	if err != nil {
		return 0, err
	}
	return child.Pid, nil
}

// attend passes signals on to the command until it has ended, and returns with
// its exit code; or with what comes from gone, see endAll. What comes from failures is told and changes nothing; nil =
// nothing comes.
func (p *program) attend(pid int, signals <-chan os.Signal, exits <-chan unix.WaitStatus, gone, failures <-chan error, tty *os.File) error {
	if tty != nil {
		defer takeTerminalBack(tty)
	}
	for {
		select {
		case s := <-signals:
			// With ESRCH the command is gone already, and its status comes next.
			if err := syscall.Kill(pid, s.(syscall.Signal)); errors.Is(err, syscall.EPERM) {
				err = fmt.Errorf("passing the signal %q on to the command: %w", s, err)
				p.printError(diag.WithHint(err, "give the container the capability KILL, so that it can be stopped in order"))
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
		case err := <-failures:
			p.printError(err)
		}
	}
}

// allEnded returns what came from gone when everything else has been killed: where
// this is not the first process, others outlive it.
func allEnded(err error, gone <-chan error) error {
	<-gone
	return err
}

// serve keeps the firewall of a namespace that other containers join, until
// somebody ends it, or life comes to its end; nil = it has none. The rules stay
// when it ends.
func (p *program) serve(w *wall, life *lifelineHolder, begin func(), took time.Duration) error {
	signals := catchSignals()
	if err := keepOnly(unix.CAP_NET_ADMIN, unix.CAP_NET_RAW); err != nil {
		return err
	}
	exits := w.children.reap(0)
	watches := []func() error{w.mounts.await}
	if life != nil {
		watches = append(watches, func() error { return life.await(p.stdin) })
	}
	gone := endAll(p, watches...)
	begin()
	ready := struct {
		Ready          bool  `json:"ready"`
		FirewallMillis int64 `json:"firewallMillis"`
	}{true, took.Milliseconds()}
	if err := json.NewEncoder(p.stdout).Encode(ready); err != nil {
		return fmt.Errorf("reporting that the firewall stands: %w", err)
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
		case err := <-w.done:
			p.printError(err)
			return exitWith(exitInternal, nil)
		}
	}
}

// ended is the end of the resolver or the guard, which never end by themselves.
// Nothing opens by it: addresses that are open run out, and the web's ports
// are the guard's alone.
func ended(what string, err error) error {
	return fmt.Errorf("%s: %w", what, errors.Join(err, errors.New("socket closed")))
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

// exitStatus turns a wait status into the exit code that shells use.
func exitStatus(status unix.WaitStatus) error {
	code := status.ExitStatus()
	if status.Signaled() {
		code = 128 + int(status.Signal())
	}
	if code == 0 {
		return nil
	}
	return exitWith(code, nil)
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
// whoever reads the terminal after us.
func takeTerminalBack(tty *os.File) {
	signal.Ignore(syscall.SIGTTOU) // which the kernel sends for it to a group in the background
	_ = unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCSPGRP, unix.Getpgrp())
}
