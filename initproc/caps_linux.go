package initproc

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/diag"
)

// lastCap bounds the search for capabilities; the kernel has 41 (0 to 40).
const lastCap = 63

// HintCapabilities says which capabilities starting a command as another user
// takes, all of them in an engine's default set.
const HintCapabilities = "give the container the capabilities SETUID, SETGID, SETPCAP and KILL as well; CMD gets none of them"

// dropPrivileges makes the calling thread, which must be locked, and whatever
// it executes the account's for good: no capability in any set, not even by
// way of a setuid program. It proves the result before it returns.
func dropPrivileges(a Account) error {
	for c := uintptr(0); c <= lastCap; c++ {
		has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil {
			break // EINVAL: the kernel has no more
		}
		if has == 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return diag.WithHint(fmt.Errorf("dropping capability %d from the bounding set: %w", c, err), HintCapabilities)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clearing the ambient capabilities: %w", err)
	}
	if err := syscall.Setgroups(a.Groups); err != nil {
		return diag.WithHint(fmt.Errorf("setting the groups %v: %w", a.Groups, err), HintCapabilities)
	}
	if err := syscall.Setresgid(a.GID, a.GID, a.GID); err != nil {
		return diag.WithHint(fmt.Errorf("becoming group %d: %w", a.GID, err), HintCapabilities)
	}
	if err := syscall.Setresuid(a.UID, a.UID, a.UID); err != nil {
		return diag.WithHint(fmt.Errorf("becoming user %d: %w", a.UID, err), HintCapabilities)
	}
	// The change of user leaves the inheritable set, and all of them when the
	// caller had set the securebits so.
	none := [2]unix.CapUserData{}
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("clearing the capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return fmt.Errorf("proving that the privileges are gone: %w", err)
	}
	return provePowerless(string(status), a)
}

// provePowerless errs unless status, the text of proc_pid_status(5), is that
// of an unprivileged thread of the account.
func provePowerless(status string, a Account) error {
	fields := map[string]string{}
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimSpace(value)
	}
	want := map[string]string{
		"CapInh": zeroCaps, "CapPrm": zeroCaps, "CapEff": zeroCaps, "CapBnd": zeroCaps, "CapAmb": zeroCaps,
		"NoNewPrivs": "1",
		"Uid":        strings.Repeat(fmt.Sprintf("\t%d", a.UID), 4)[1:],
		"Gid":        strings.Repeat(fmt.Sprintf("\t%d", a.GID), 4)[1:],
	}
	for name, value := range want {
		if fields[name] != value {
			return fmt.Errorf("the privileges are not gone: %s is %q, not %q", name, fields[name], value)
		}
	}
	return nil
}

const zeroCaps = "0000000000000000"

// KeepOnly takes every capability from all threads of this process but those
// given. A defect of the resolver then costs the
// packet filter, not the container.
func KeepOnly(caps ...int) error {
	var data [2]unix.CapUserData
	for _, c := range caps {
		data[c/32].Permitted |= 1 << (c % 32)
		data[c/32].Effective |= 1 << (c % 32)
	}
	// A capability that the container was not given cannot be kept.
	var have [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &have[0]); err != nil {
		return fmt.Errorf("reading our capabilities: %w", err)
	}
	for i := range data {
		data[i].Permitted &= have[i].Permitted
		data[i].Effective &= have[i].Permitted
	}
	header = unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	// unsafe: unix.Capset changes the calling thread alone, and the call for all
	// threads takes addresses.
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0)
	runtime.KeepAlive(&data)
	if errno != 0 {
		return fmt.Errorf("giving up our own capabilities: %w", errno)
	}
	return nil
}
