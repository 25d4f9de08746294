package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// Bounds of the search for processes, which costs about a millisecond: an
// agent that is refused in a loop must not keep us busy with it.
const (
	searchesPerSecond = 50
	searchLimit       = 20 * time.Millisecond
	maxExe            = 256 // bytes of an executable's path that are recorded
)

// witness finds out which process a refusal was about, as long as its socket
// exists. A program that waits for its answer, as for a name, is found. A
// refused TCP connection is over before anybody can look, and of processes in
// another PID namespace nothing but the user is to be seen: then the record
// leaves the process out.
type witness struct {
	searches chan search // nil = processes cannot be seen
	now      func() time.Time

	mu     sync.Mutex
	second time.Time
	spent  int
}

// search asks which process holds the socket with this inode.
type search struct {
	inode  uint64
	answer chan process
}

type process struct {
	pid int
	exe string
}

// newWitness returns the witness of the account's processes; those of the
// zero account cannot be seen. It needs CAP_SETUID and CAP_SETGID, only now.
func newWitness(who account) (*witness, error) {
	w := &witness{now: time.Now}
	if who.uid == 0 {
		return w, nil
	}
	w.searches = make(chan search)
	ready := make(chan error)
	go func() {
		// Never unlocked: the ids belong to this thread. Reading the files of
		// another user's process takes his ids or CAP_SYS_PTRACE. The ids for
		// files give that user no right to this thread, which the real ones would.
		runtime.LockOSThread()
		err := setFileIDs(who.uid, who.gid)
		ready <- err
		if err != nil {
			return
		}
		for s := range w.searches {
			s.answer <- findProcess(s.inode, who.uid)
		}
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	// A change of ids can make the memory of the whole process readable again.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("hiding the memory of sbx-init: %w", err)
	}
	return w, nil
}

func setFileIDs(uid, gid int) error {
	const nobody = 0xffffffff // no id, so that nothing changes and the present one is returned
	for _, id := range []struct {
		call uintptr
		to   int
	}{{unix.SYS_SETFSGID, gid}, {unix.SYS_SETFSUID, uid}} {
		_, _, _ = unix.RawSyscall(id.call, uintptr(id.to), 0, 0)
		if now, _, _ := unix.RawSyscall(id.call, nobody, 0, 0); int(now) != id.to {
			return fmt.Errorf("looking at processes as user %d: the kernel did not allow it", uid)
		}
	}
	return nil
}

// complete adds the user and, where it can be seen, the process to a refusal.
// Allowed decisions are left alone: they are on the way to an answer.
func (w *witness) complete(r *audit.Record) {
	if r.Verdict == firewall.Allow || r.Src.Port() == 0 || !w.spend() {
		return
	}
	s, ok := findSocket(r.SrcProto, r.Src)
	if !ok {
		return
	}
	if r.UID == nil {
		r.UID = &s.uid
	}
	if w.searches == nil {
		return
	}
	question := search{s.inode, make(chan process, 1)}
	select {
	case w.searches <- question:
	default:
		return // busy with another one
	}
	p := <-question.answer
	r.PID, r.Exe = p.pid, p.exe
}

// spend reports whether another search is within the bounds.
func (w *witness) spend() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := w.now(); now.Sub(w.second) >= time.Second {
		w.second, w.spent = now, 0
	}
	w.spent++
	return w.spent <= searchesPerSecond
}

// socket is a line of /proc/net/tcp and the like, see proc_pid_net(5).
type socket struct {
	uid   int
	inode uint64
}

// findSocket finds the socket of this network namespace that is bound to
// local, or to its port on every address.
func findSocket(proto firewall.Proto, local netip.AddrPort) (socket, bool) {
	if proto != firewall.TCP && proto != firewall.UDP {
		return socket{}, false
	}
	addr := local.Addr().Unmap()
	tables := []string{string(proto) + "6"}
	if addr.Is4() {
		tables = []string{string(proto), string(proto) + "6"} // a socket of IPv6 can speak IPv4
	}
	for _, table := range tables {
		text, err := os.ReadFile("/proc/thread-self/net/" + table)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(text) {
			if s, ok := parseSocket(line, addr, local.Port()); ok {
				return s, true
			}
		}
	}
	return socket{}, false
}

func parseSocket(line []byte, addr netip.Addr, port uint16) (socket, bool) {
	fields := bytes.Fields(line)
	if len(fields) < 10 {
		return socket{}, false
	}
	address, portText, _ := strings.Cut(string(fields[1]), ":")
	if p, err := strconv.ParseUint(portText, 16, 16); err != nil || uint16(p) != port {
		return socket{}, false
	}
	raw, err := hex.DecodeString(address)
	if err != nil || len(raw)%4 != 0 {
		return socket{}, false
	}
	for i := 0; i < len(raw); i += 4 { // words in the machine's order
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	bound, ok := netip.AddrFromSlice(raw)
	if bound = bound.Unmap(); !ok || bound != addr && !bound.IsUnspecified() {
		return socket{}, false
	}
	uid, err1 := strconv.Atoi(string(fields[7]))
	inode, err2 := strconv.ParseUint(string(fields[9]), 10, 64)
	if err1 != nil || err2 != nil || inode == 0 { // without an inode nobody holds it any more
		return socket{}, false
	}
	return socket{uid, inode}, true
}

// findProcess finds a process of uid that holds the socket, the youngest
// first. The zero process means that there is none, or none in time.
func findProcess(inode uint64, uid int) process {
	begin := time.Now()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return process{}
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.SortFunc(pids, func(a, b int) int { return b - a })
	want := fmt.Sprintf("socket:[%d]", inode)
	for _, pid := range pids {
		if time.Since(begin) > searchLimit {
			break
		}
		dir := "/proc/" + strconv.Itoa(pid)
		if info, err := os.Lstat(dir); err != nil || info.Sys().(*syscall.Stat_t).Uid != uint32(uid) {
			continue
		}
		fds, err := os.ReadDir(dir + "/fd")
		if err != nil {
			continue
		}
		for _, fd := range fds {
			if target, err := os.Readlink(dir + "/fd/" + fd.Name()); err == nil && target == want {
				exe, _ := os.Readlink(dir + "/exe") // gone with the process
				return process{pid, exe[:min(len(exe), maxExe)]}
			}
		}
	}
	return process{}
}
