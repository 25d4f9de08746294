package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall/owner"
	"github.com/org/claude-sandbox/internal/diag"
)

// confineCommand is the hidden command that reap starts itself with. It becomes
// CMD.
const confineCommand = "confine"

// reap is the first process of a container that has no capability: it starts
// the command, passes signals on, collects orphans, tells the firewall which
// process holds a socket, and ends with the command's exit code. It runs as the
// command's own user, and yet that user can neither trace it, nor read its
// memory, environment and descriptors, nor end it: the kernel spares a
// namespace's first process signals that it does not ask for, and this one
// cannot be dumped. It holds the container's output and the session's token.
func (p *program) reap(args []string) error {
	flags, command, found := splitCommand(args)
	fs := newFlags("reap")
	tied := fs.Bool("lifeline", false, "")
	rest, err := parseFlags(fs, flags)
	if err != nil {
		return err
	}
	if len(rest) > 0 || !found || len(command) == 0 {
		return usageError("reap takes nothing but --lifeline and a command behind \"--\"")
	}
	if os.Getpid() != 1 {
		return diag.WithHint(errors.New("reap must be the first process of its container"),
			"make it the container's entrypoint, and leave out the engine's own init (--init, \"init\": true)")
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hiding the memory of sbx-init: %w", err)
	}
	if err := forbidDumps(); err != nil {
		return err
	}
	if err := setSignals(signalIgnored); err != nil {
		return err
	}
	if err := owner.Answer(os.Environ()); err != nil {
		fmt.Fprintf(p.stderr, "sbx-init: warning: the firewall's records will name no process: %v\n", err)
	}
	mounts, err := watchMounts()
	if err != nil {
		return err
	}
	watches := []func() error{mounts.await}
	if *tied {
		await, err := joinLifeline()
		if err != nil {
			return err
		}
		watches = append(watches, await)
	}
	children := newReaper()
	signals := catchSignals()
	gone := endAll(p, watches...)
	tty := foregroundTerminal()
	pid, err := startChild(append([]string{"sbx-init", confineCommand, "--"}, command...), os.Environ(), tty)
	if err != nil {
		return fmt.Errorf("starting %s: %w", command[0], err)
	}
	return p.attend(pid, signals, children.reap(pid), gone, nil, tty)
}

// forbidDumps keeps the memory of this process and of all that it starts, which
// holds the session's token, from being written to a file or handed to a program
// of the host's when it ends badly. The engine could do it; but Podman 4.3, once
// one limit is named, sets others as well, and then starts nothing where root may
// not raise them.
func forbidDumps() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbidding dumps of memory: %w", err)
	}
	return nil
}

// confine becomes CMD without what no packet filter sees. It returns only when
// that failed; nothing of CMD has run then.
func (p *program) confine(args []string) error {
	flags, command, found := splitCommand(args)
	if len(flags) > 0 || !found || len(command) == 0 {
		return usageError("unknown command %q", confineCommand)
	}
	runtime.LockOSThread() // a filter belongs to threads, and this one executes CMD
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return fmt.Errorf("proving that there are no privileges: %w", err)
	}
	if err := provePowerless(string(status), account{uid: os.Getuid(), gid: os.Getgid()}); err != nil {
		return diag.WithHint(err, "start the container as an unprivileged user without any capability (--cap-drop ALL)")
	}
	if err := setSignals(signalDefault); err != nil { // what is ignored would stay so for CMD
		return err
	}
	return becomeCommand(command)
}

// deaf are the signals that a Go program cannot ask to be told of. Those about
// faults of its own would end it when somebody else sends them, whatever it
// does; the three of the C library have no action of ours, and the kernel ends
// even a namespace's first process by one while its first thread blocks it.
// Ignored they do nothing, and a real fault ends the program all the same.
var deaf = []syscall.Signal{
	syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSTKFLT, syscall.SIGSYS, 32, 33, 34,
}

// The kernel's words for what a signal does.
const (
	signalDefault = 0 // SIG_DFL
	signalIgnored = 1 // SIG_IGN
)

// setSignals gives all of deaf one action; package os/signal does not do that.
func setSignals(to uint64) error {
	// struct sigaction of the kernel, the same on all machines with 64 bits.
	action := struct{ handler, flags, restorer, mask uint64 }{handler: to}
	for _, s := range deaf {
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
		if errno != 0 {
			return fmt.Errorf("setting the signal %d: %w", s, errno)
		}
	}
	return nil
}
