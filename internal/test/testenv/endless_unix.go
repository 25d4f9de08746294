//go:build unix

package testenv

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

// Endless puts in the place of the file name what an agent leaves there so that a reader waits
// for ever, or takes all of the machine's memory: a pipe, then a terabyte of holes. It fails
// when read does not come back.
func Endless(t *testing.T, name string, read func()) {
	t.Helper()
	pipe := func() error { return syscall.Mkfifo(name, 0o644) }
	holes := func() error { return errors.Join(os.WriteFile(name, nil, 0o644), os.Truncate(name, 1<<40)) }
	for _, put := range []func() error{pipe, holes} {
		_ = os.Remove(name)
		if err := put(); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() { defer close(done); read() }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatalf("what reads %s waits for ever", name)
		}
	}
}
