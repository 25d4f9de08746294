package owner

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/org/claude-sandbox/internal/redact"
)

const (
	// searchLimit bounds one search for a process, while a program waits.
	searchLimit = 20 * time.Millisecond
	maxRecent   = 16  // processes that are looked at first
	maxExe      = 256 // bytes of an executable's path that are recorded
	maxCmd      = 256 // bytes of a command line, redacted
)

// scanner finds the process of a user that holds a socket, in /proc. It must be
// used on a thread that has that user's ids for files, or CAP_SYS_PTRACE. It is
// not safe for concurrent use.
type scanner struct {
	uid    int
	redact *redact.Redactor
	recent []int // processes found lately, the last one first
}

// find returns the zero Process when no process shows the socket, or none in time.
func (s *scanner) find(inode uint64) Process {
	begin := time.Now()
	want := fmt.Sprintf("socket:[%d]", inode)
	for _, pid := range s.recent {
		if s.holds(pid, want) {
			return s.describe(pid)
		}
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return Process{}
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	slices.SortFunc(pids, func(a, b int) int { return b - a }) // the youngest first
	for _, pid := range pids {
		if time.Since(begin) > searchLimit {
			return Process{}
		}
		if s.holds(pid, want) {
			s.recent = append([]int{pid}, s.recent[:min(len(s.recent), maxRecent-1)]...)
			return s.describe(pid)
		}
	}
	return Process{}
}

// holds reports whether a process of the user shows that it has the file open.
func (s *scanner) holds(pid int, want string) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	if info, err := os.Lstat(dir); err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != s.uid {
		return false
	}
	fds, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return false
	}
	return slices.ContainsFunc(fds, func(fd os.DirEntry) bool {
		target, err := os.Readlink(dir + "/fd/" + fd.Name())
		return err == nil && target == want
	})
}

// describe reads what a process says of itself; nothing but its number when it
// is gone.
func (s *scanner) describe(pid int) Process {
	p := Process{PID: pid}
	dir := "/proc/" + strconv.Itoa(pid)
	exe, _ := os.Readlink(dir + "/exe")
	p.Exe = exe[:min(len(exe), maxExe)]
	file, err := os.Open(dir + "/cmdline")
	if err != nil {
		return p
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, 8*maxCmd))
	if len(text) == 8*maxCmd {
		text = text[:7*maxCmd] // half a secret at the end would not be known for one
	}
	p.Cmd = s.redact.CommandLine(strings.Split(strings.TrimRight(string(text), "\x00"), "\x00"), maxCmd)
	return p
}
