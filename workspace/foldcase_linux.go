package workspace

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/workspace/obeyed"
)

// isOnePlace reports whether this machine's kernel, which is the engine's, knows
// that another spelling of file is the same place: it then names it as it is, and
// a mount there is one at every spelling. Engines refuse to mount at a name that
// the kernel has another one for.
func isOnePlace(file string) bool {
	other := filepath.Join(filepath.Dir(file), obeyed.SwapCase(filepath.Base(file)))
	fd, err := unix.Open(other, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	return err == nil && filepath.Base(name) != filepath.Base(other)
}
