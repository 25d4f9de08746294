//go:build unix

package filelock

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A process that is being started has a copy of each open file until it runs its program: it must not keep the hold.
func TestReleaseEndsTheHoldOfCopies(t *testing.T) {
	name := filepath.Join(t.TempDir(), "held")
	first, err := Wait(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	copied, err := unix.Dup(int(first.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(copied)
	if err := Release(first); err != nil {
		t.Fatal(err)
	}
	second, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if held, err := Try(second); err != nil || !held {
		t.Errorf("%v, %v: the copy keeps the hold", held, err)
	}
}
