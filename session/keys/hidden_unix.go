//go:build unix

package keys

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// pipeVariable names the descriptor at which the keys wait for a program that has
// them from another. It is in the environment for that moment only.
const pipeVariable = "SBX_DEVC_KEYS_FD"

// maxBytes is what a pipe takes without a reader on every system, in bytes.
const maxBytes = 4096

// hidden returns the keys from the pipe at which another process left them, or takes
// them out of what the kernel shows of this process's environment. It returns nil when
// there are none.
func hidden(more []string) (Keys, error) {
	if value, ok := os.LookupEnv(pipeVariable); ok {
		_ = os.Unsetenv(pipeVariable)
		return receive(value)
	}
	found, rest := split(os.Environ(), more)
	if len(found) == 0 {
		return nil, nil
	}
	return found, conceal(found, rest)
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
