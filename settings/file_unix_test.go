//go:build unix

package settings

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Attack: a list that the settings name is a pipe, and whoever opens it waits.
func TestAttackAPipeInThePlaceOfAList(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "sandbox.jsonc")
	if err := os.WriteFile(name, []byte(`{"network": {"allow": ["@hosts.txt"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "hosts.txt")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan *File, 1)
	go func() {
		f, err := ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		done <- f
	}()
	select {
	case f := <-done:
		if f != nil && f.Settings != nil {
			t.Error("a pipe passes for a list")
		}
	case <-time.After(10 * time.Second):
		w, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0) // let the reader go
		if err == nil {
			w.Close()
		}
		t.Fatal("reading the settings waits for a pipe")
	}
}
