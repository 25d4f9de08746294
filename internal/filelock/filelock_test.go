package filelock

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestOneHolderAtATime(t *testing.T) {
	name := filepath.Join(t.TempDir(), "held")
	open := func() *os.File {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	try := func(f *os.File, want bool) {
		t.Helper()
		if got, err := Try(f); got != want || err != nil {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	}
	first, second := open(), open()
	try(first, true)
	try(second, false)
	first.Close()
	try(second, true)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Wait(ended, name); err == nil {
		t.Error("it does not wait for the second")
	}
	go second.Close()
	third, err := Wait(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	third.Close()
}
