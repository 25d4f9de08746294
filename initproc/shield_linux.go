package initproc

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Shield puts this process, which must be the first one of its container, out of
// reach of its own user: that user can neither trace it, nor read its memory,
// environment and descriptors, nor end it. The kernel spares a namespace's first
// process signals that it does not ask for, and this one cannot be dumped. It
// holds the container's output and the session's token.
func Shield() error {
	if err := HideMemory(); err != nil {
		return err
	}
	if err := ForbidDumps(); err != nil {
		return err
	}
	return setSignals(signalIgnored)
}

// HideMemory keeps other processes of this process's user from reading and
// writing its memory (PR_SET_DUMPABLE in prctl(2)).
func HideMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hiding the memory of sbx-init: %w", err)
	}
	return nil
}

// ForbidDumps keeps the memory of this process and of all that it starts, which
// holds the session's token, from being written to a file or handed to a program
// of the host's when it ends badly. The engine could do it; but Podman 4.3, once
// one limit is named, sets others as well, and then starts nothing where root may
// not raise them.
func ForbidDumps() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbidding dumps of memory: %w", err)
	}
	return nil
}

// unnotified are the signals that a Go program cannot ask to be told of. Those
// about its own faults would end it when another process sends them, whatever it
// does; the three of the C library have no action of ours, and the kernel ends
// even a namespace's first process by one while its first thread blocks it.
// Ignored they do nothing, and a real fault ends the program all the same.
var unnotified = []syscall.Signal{
	syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSTKFLT, syscall.SIGSYS, 32, 33, 34,
}

// The kernel's words for the action of a signal.
const (
	signalDefault = 0 // SIG_DFL
	signalIgnored = 1 // SIG_IGN
)

// setSignals gives all of unnotified one action; package os/signal does not do that.
func setSignals(to uint64) error {
	// struct sigaction of the kernel, the same on all machines with 64 bits.
	action := struct{ handler, flags, restorer, mask uint64 }{handler: to}
	for _, s := range unnotified {
		// unsafe: rt_sigaction(2) takes the structure's address, and package unix
		// has no call for it.
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
		if errno != 0 {
			return fmt.Errorf("setting the signal %d: %w", s, errno)
		}
	}
	return nil
}
