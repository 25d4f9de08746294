package netnstest

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Namespace is a network namespace with the thread that lives in it.
type Namespace struct {
	work chan func()
	file *os.File // /proc/…/ns/net, which keeps the namespace alive
}

// newNamespace makes an empty namespace that lasts as long as the test.
func newNamespace(t testing.TB) *Namespace {
	t.Helper()
	return enterNamespace(t, func() error { return unix.Unshare(unix.CLONE_NEWNET) })
}

// enterNamespace has a thread enter a namespace.
func enterNamespace(t testing.TB, enter func() error) *Namespace {
	t.Helper()
	ns := &Namespace{work: make(chan func())}
	ready := make(chan error)
	go func() {
		// Never unlocked: the runtime then ends the thread with the goroutine,
		// and no other goroutine ever runs in the wrong namespace.
		runtime.LockOSThread()
		err := enter()
		if err == nil {
			ns.file, err = os.Open("/proc/thread-self/ns/net")
		}
		ready <- err
		if err != nil {
			return
		}
		for f := range ns.work {
			f()
		}
	}()
	if err := <-ready; err != nil {
		t.Fatalf("entering a network namespace: %v", err)
	}
	t.Cleanup(func() {
		close(ns.work)
		ns.file.Close()
	})
	return ns
}

// Do runs f on the namespace's thread and waits for it. f must not end its
// goroutine (t.Fatal), and must not start goroutines that open sockets:
// they would open them outside. Programs that f starts run in the namespace.
func (ns *Namespace) Do(f func()) {
	done := make(chan any)
	ns.work <- func() {
		defer func() { done <- recover() }()
		f()
	}
	if p := <-done; p != nil {
		panic(p)
	}
}

// As runs f like Do with the effective user id uid: sockets that f opens
// belong to that user, and f has no capability unless uid is 0.
func (ns *Namespace) As(uid int, f func()) {
	ns.Do(func() {
		// The raw call changes this thread alone; Go's own would change all.
		if err := seteuid(uid); err != nil {
			panic(fmt.Sprintf("becoming user %d: %v", uid, err))
		}
		defer func() {
			if err := seteuid(0); err != nil {
				panic(fmt.Sprintf("becoming root again: %v", err))
			}
		}()
		f()
	})
}

func seteuid(uid int) error {
	const keep = ^uintptr(0)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(uid), keep); errno != 0 {
		return errno
	}
	return nil
}
