//go:build unix && !linux

package keys

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// conceal leaves the keys in a pipe and replaces this program by itself without them:
// here a process cannot change what the kernel shows of the environment that it was
// started with. It returns only when that failed.
func conceal(found Keys, rest []string) error {
	text, err := json.Marshal(found)
	if err != nil || len(text) > maxBytes {
		return errors.New("the keys are too long")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	// The pipe's own descriptor is closed by exec.
	fd, err := unix.Dup(int(r.Fd()))
	if err != nil {
		return err
	}
	err = unix.Exec(self, os.Args, append(rest, pipeVariable+"="+strconv.Itoa(fd)))
	return errors.Join(err, unix.Close(fd), r.Close())
}
