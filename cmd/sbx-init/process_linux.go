package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
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

// owner is a process as records have it. The zero owner is nobody known.
type owner struct {
	PID   int    `json:"pid,omitempty"`
	Exe   string `json:"exe,omitempty"`
	Cmd   string `json:"cmd,omitempty"`
	Guess bool   `json:"guess,omitempty"` // by exclusion, see finder
}

// finder finds out which process of a user holds a socket. It must be used on a
// thread that has that user's ids for files, or CAP_SYS_PTRACE.
//
// A process that cannot be traced hides its files also from its own user, as
// Claude Code's own does where its program cannot be read. If nobody shows the
// socket and exactly one process hides its files, the socket is said to be that
// one's, as a guess: a program can keep a socket where nobody sees it, as in a
// message that is under way.
type finder struct {
	uid    int
	redact *redact.Redactor
	recent []int // who was found lately, the last one first
}

// find errs with nobody when no process shows the socket, or none in time.
func (f *finder) find(inode uint64) owner {
	begin := time.Now()
	want := fmt.Sprintf("socket:[%d]", inode)
	for _, pid := range f.recent {
		if found, _ := f.holds(pid, want); found {
			return f.describe(pid)
		}
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return owner{}
	}
	var pids, hiding []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	slices.SortFunc(pids, func(a, b int) int { return b - a }) // the youngest first
	for _, pid := range pids {
		if time.Since(begin) > searchLimit {
			return owner{}
		}
		found, hides := f.holds(pid, want)
		if found {
			f.recent = append([]int{pid}, f.recent[:min(len(f.recent), maxRecent-1)]...)
			return f.describe(pid)
		}
		if hides {
			hiding = append(hiding, pid)
		}
	}
	if len(hiding) != 1 {
		return owner{}
	}
	o := f.describe(hiding[0])
	if o.Cmd == "" {
		return owner{} // it is ending, and hides for want of anything to show
	}
	o.Guess = true
	return o
}

// holds reports whether a process of the user has the file open, or hides which
// ones it has.
func (f *finder) holds(pid int, want string) (found, hides bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	if info, err := os.Lstat(dir); err != nil || ownerOf(info) != f.uid {
		return false, false
	}
	fds, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return false, errors.Is(err, fs.ErrPermission) && !isZombie(dir)
	}
	for _, fd := range fds {
		if target, err := os.Readlink(dir + "/fd/" + fd.Name()); err == nil && target == want {
			return true, false
		}
	}
	return false, false
}

// isZombie reports whether a process has ended and waits to be collected: its
// files are hidden, and it has none.
func isZombie(dir string) bool {
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return true
	}
	// proc_pid_stat(5): pid, name in parentheses, which may hold any, state.
	_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	return len(rest) == 0 || rest[0] == 'Z' || rest[0] == 'X'
}

// describe reads what a process says of itself; nothing but its number when it
// is gone. Its executable is hidden where its files are.
func (f *finder) describe(pid int) owner {
	o := owner{PID: pid}
	dir := "/proc/" + strconv.Itoa(pid)
	exe, _ := os.Readlink(dir + "/exe")
	o.Exe = exe[:min(len(exe), maxExe)]
	file, err := os.Open(dir + "/cmdline")
	if err != nil {
		return o
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, 8*maxCmd))
	if len(text) == 8*maxCmd {
		text = text[:7*maxCmd] // half a secret at the end would not be known for one
	}
	o.Cmd = f.redact.CommandLine(strings.Split(strings.TrimRight(string(text), "\x00"), "\x00"), maxCmd)
	return o
}
