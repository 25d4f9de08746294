//go:build unix

package workspace

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// Attack: an agent fills the project with pipes, so that in the next run the
// socket of a program of the host is one too many to be hidden.
func TestAttackMoreSocketsAndPipesThanCanBeHidden(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("sockets of a project lead to the host's programs on Linux alone")
	}
	dir := t.TempDir()
	for i := range maxSockets {
		if err := syscall.Mkfifo(filepath.Join(dir, fmt.Sprintf("a%03d", i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Inspect(dir, nil)
	if err != nil || len(w.Sockets) != maxSockets {
		t.Fatalf("%d pipes are as many as can be hidden: %v", maxSockets, err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "program.sock"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Inspect(dir, nil); !errors.Is(err, ErrRefused) {
		t.Errorf("one more than can be hidden: %v", err)
	}
}
