package filelock

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
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

// A lock that its holder removes leaves no file, and whoever waits for it never shares it.
func TestARemovedLockHasOneHolder(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	var holders, most atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				f, err := Wait(t.Context(), name)
				if err != nil {
					t.Error(err)
					return
				}
				most.Store(max(most.Load(), holders.Add(1)))
				runtime.Gosched()
				holders.Add(-1)
				if err := Remove(f); err != nil && runtime.GOOS != "windows" {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if most.Load() != 1 {
		t.Errorf("%d hold it at once", most.Load())
	}
	if _, err := os.Stat(name); err == nil && runtime.GOOS != "windows" {
		t.Error("the file stays")
	}
}
