//go:build unix

package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// pipeVariable names the descriptor at which the keys wait for a program that
// replaced itself. It is in the environment for that moment only.
const pipeVariable = "SBX_DEVC_KEYS_FD"

// maxBytes is what a pipe takes without a reader on every system, in bytes.
const maxBytes = 4096

// hidden returns the keys from the pipe at which an earlier self left them, or
// leaves them in one and replaces this program by itself without them: a process
// cannot change what the kernel shows of the environment that it was started
// with. It returns nil when there are none.
func hidden(more []string) (Keys, error) {
	if value, ok := os.LookupEnv(pipeVariable); ok {
		_ = os.Unsetenv(pipeVariable)
		return receive(value)
	}
	found, rest := split(os.Environ(), more)
	if len(found) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(found)
	if err != nil || len(text) > maxBytes {
		return nil, errors.New("the keys are too long")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	_, err = w.Write(text)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	// The pipe's own descriptor is closed by exec.
	fd, err := unix.Dup(int(r.Fd()))
	if err != nil {
		return nil, err
	}
	err = unix.Exec(self, os.Args, append(rest, pipeVariable+"="+strconv.Itoa(fd)))
	return nil, errors.Join(err, unix.Close(fd), r.Close())
}

// receive reads and closes the pipe at a descriptor. Somebody else may have
// set the variable: what is no pipe is left alone.
func receive(descriptor string) (Keys, error) {
	fd, err := strconv.Atoi(descriptor)
	if err != nil || fd < 3 {
		return nil, fmt.Errorf("%s is no descriptor", pipeVariable)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil, fmt.Errorf("%s names no pipe", pipeVariable)
	}
	unix.CloseOnExec(fd)
	pipe := os.NewFile(uintptr(fd), "keys")
	defer pipe.Close()
	var found Keys
	if err := json.NewDecoder(io.LimitReader(pipe, maxBytes)).Decode(&found); err != nil {
		return nil, fmt.Errorf("reading the keys: %w", err)
	}
	return found, nil
}
