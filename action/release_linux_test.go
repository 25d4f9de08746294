package action_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Jobs of one machine share the tool cache: each finds the whole program there, at every
// moment, or none.
func TestParallelInstallsOfARelease(t *testing.T) {
	r := newReleased(t)
	r.program = append(r.program, bytes.Repeat([]byte("# longer than a pipe\n"), 1<<16)...)
	r.pin(t, "v1.2.3")
	sum := sha256.Sum256(r.program)
	place := filepath.Join(r.cache, "claude-sandbox", "1.2.3", hex.EncodeToString(sum[:]), "sbx-devc")
	// What a job left that ended too early, or that somebody wrote.
	write(t, place, "#!/bin/sh\n")
	happened := watched(t, place)
	places := make(chan struct{}, 3)
	var all sync.WaitGroup
	for range 18 {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			bin, log, _, err := r.install(t)
			program, readErr := os.ReadFile(bin)
			if err != nil || readErr != nil || bin != place || !bytes.Equal(program, r.program) {
				t.Errorf("%v, %v: %s: %s", err, readErr, bin, log)
			}
		})
	}
	all.Wait()
	if got := files(t, r.cache, r.temp); got != place+"\n" {
		t.Errorf("left: %s", got)
	}
	// Whole files alone take the name, and nobody writes to one that has it.
	events := happened()
	if events&unix.IN_MOVED_TO == 0 || events&^unix.IN_MOVED_TO != 0 {
		t.Errorf("the program came to its place by %#x, and not by renames alone", events)
	}
}

// watched notes from now on what happens to the name of a file that is there.
func watched(t *testing.T, file string) (happened func() (events uint32)) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	const mask = unix.IN_CREATE | unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO
	if _, err := unix.InotifyAddWatch(fd, filepath.Dir(file), mask); err != nil {
		t.Fatal(err)
	}
	return func() (events uint32) {
		for buffer := make([]byte, 64<<10); ; {
			n, err := unix.Read(fd, buffer)
			if errors.Is(err, unix.EAGAIN) {
				return events
			}
			if err != nil {
				t.Fatal(err)
			}
			for rest := buffer[:n]; len(rest) >= unix.SizeofInotifyEvent; {
				end := unix.SizeofInotifyEvent + binary.NativeEndian.Uint32(rest[12:]) // the name's length
				name := string(bytes.TrimRight(rest[unix.SizeofInotifyEvent:end], "\x00"))
				if mask := binary.NativeEndian.Uint32(rest[4:]); name == filepath.Base(file) || mask&unix.IN_Q_OVERFLOW != 0 {
					events |= mask
				}
				rest = rest[end:]
			}
		}
	}
}
