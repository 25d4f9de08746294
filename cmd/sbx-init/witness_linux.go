package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
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
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/redact"
)

// Bounds of the search for processes, which costs up to a millisecond: an
// agent that is refused in a loop must not keep us busy with it. What is allowed
// has a bound of its own, so that nobody hides a refusal behind it.
const (
	searchesPerSecond = 50
	searchLimit       = 20 * time.Millisecond
	rememberAllowed   = 10 * time.Minute // how long an allowed destination's process is not looked for again
	maxRemembered     = 4096
	maxRecent         = 16      // processes that are looked at first
	maxTable          = 1 << 20 // bytes of the kernel's list of sockets, some 7,000 of them
	maxExe            = 256     // bytes of an executable's path that are recorded
	maxCmd            = 256     // bytes of a command line, redacted
)

// witness finds out which process a decision was about, as long as its socket
// exists. A program that waits for its answer, as for a name or from the guard,
// is found. A refused TCP connection is over before anybody can look, and of
// processes in another PID namespace nothing but the user is to be seen: then
// the record leaves the process out.
type witness struct {
	searches chan search      // nil = processes cannot be seen
	servers  []netip.AddrPort // the name servers that programs mean when they ask
	redact   *redact.Redactor
	now      func() time.Time

	mu      sync.Mutex
	second  time.Time
	spent   map[firewall.Verdict]int
	allowed map[destination]time.Time // when an allowed destination's process was looked for
}

// destination is what a process was looked for at.
type destination struct {
	layer     audit.Layer
	name, dst string
	port      uint16
}

// search asks which process holds the socket with this inode.
type search struct {
	inode  uint64
	answer chan process
}

type process struct {
	pid  int
	exe  string
	args []string
}

// newWitness returns the witness of the account's processes; those of the
// zero account cannot be seen. It needs CAP_SETUID and CAP_SETGID, only now.
// servers are the name servers that programs know of. environ is what the
// processes inherit: values that are secret by their variable's name are kept
// out of the records.
func newWitness(who account, servers []netip.AddrPort, environ []string) (*witness, error) {
	w := &witness{
		servers: servers,
		redact:  redact.New(redact.Options{Secrets: redact.SecretsOf(environ), Patterns: true}),
		now:     time.Now, spent: map[firewall.Verdict]int{}, allowed: map[destination]time.Time{},
	}
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
		var recent []int
		for s := range w.searches {
			p := findProcess(s.inode, who.uid, recent)
			if p.pid != 0 && !slices.Contains(recent, p.pid) {
				recent = append([]int{p.pid}, recent[:min(len(recent), maxRecent-1)]...)
			}
			s.answer <- p
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
			return diag.WithHint(fmt.Errorf("looking at processes as user %d: the kernel did not allow it", uid), hintCaps)
		}
	}
	return nil
}

// complete adds the user and, where it can be seen, the process to a record.
// The client waits meanwhile, which keeps its socket alive. An allowed
// destination pays for that once in a while and no more.
func (w *witness) complete(r *audit.Record) {
	if r.Src.Port() == 0 || !w.worth(r) {
		return
	}
	s, ok := w.findSocket(r)
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
	r.PID, r.Exe, r.Cmd = p.pid, p.exe, w.redact.CommandLine(p.args, maxCmd)
}

// worth reports whether a search is within the bounds.
func (w *witness) worth(r *audit.Record) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if r.Verdict == firewall.Allow {
		t := destination{r.Layer, r.Name, r.Dst, r.Port}
		if last, ok := w.allowed[t]; ok && now.Sub(last) < rememberAllowed {
			return false
		}
		if len(w.allowed) >= maxRemembered {
			clear(w.allowed)
		}
		w.allowed[t] = now
	}
	if now.Sub(w.second) >= time.Second {
		w.second = now
		clear(w.spent)
	}
	w.spent[r.Verdict]++
	return w.spent[r.Verdict] <= searchesPerSecond
}

// socket is who holds a socket, as the kernel lists it.
type socket struct {
	uid   int
	inode uint64
}

// findSocket finds the client's socket in this network namespace.
func (w *witness) findSocket(r *audit.Record) (socket, bool) {
	if r.SrcProto != firewall.TCP && r.SrcProto != firewall.UDP {
		return socket{}, false
	}
	// Both ends name a socket. Of a question to the resolver, which was led to
	// us, the other end is the server that the client meant.
	remotes := w.servers
	if dst, err := netip.ParseAddr(r.Dst); err == nil && r.Layer != audit.LayerDNS {
		remotes = []netip.AddrPort{netip.AddrPortFrom(dst, r.Port)}
	}
	for _, remote := range remotes {
		if s, ok := connectedSocket(r.SrcProto, r.Src, remote); ok {
			return s, true
		}
	}
	if r.SrcProto == firewall.TCP && r.Layer != audit.LayerDNS {
		return socket{}, false // the list would not have it either
	}
	return listedSocket(r.SrcProto, r.Src)
}

// connectedSocket asks the kernel for the socket with these ends (sock_diag(7)),
// which costs the same among ten thousand.
func connectedSocket(proto firewall.Proto, local, remote netip.AddrPort) (socket, bool) {
	number := byte(unix.IPPROTO_TCP)
	if proto == firewall.UDP {
		number = unix.IPPROTO_UDP
		local, remote = remote, local // the kernel has them the other way round there (net/ipv4/udp_diag.c)
	}
	src, dst := local.Addr().Unmap(), remote.Addr().Unmap()
	if src.Is4() != dst.Is4() {
		return socket{}, false
	}
	const headerSize, messageSize = unix.SizeofNlMsghdr, 56 // struct inet_diag_req_v2
	q := make([]byte, headerSize+messageSize)
	binary.NativeEndian.PutUint32(q, uint32(len(q)))
	binary.NativeEndian.PutUint16(q[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(q[6:], unix.NLM_F_REQUEST)
	body := q[headerSize:]
	body[0] = unix.AF_INET6
	if src.Is4() {
		body[0] = unix.AF_INET
	}
	body[1] = number
	binary.NativeEndian.PutUint32(body[4:], 0xffffffff) // in every state
	binary.BigEndian.PutUint16(body[8:], local.Port())
	binary.BigEndian.PutUint16(body[10:], remote.Port())
	copy(body[12:28], src.AsSlice())
	copy(body[28:44], dst.AsSlice())
	binary.NativeEndian.PutUint64(body[48:], 0xffffffffffffffff) // INET_DIAG_NOCOOKIE

	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return socket{}, false
	}
	defer unix.Close(fd)
	timeout := unix.NsecToTimeval(searchLimit.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		return socket{}, false
	}
	if err := unix.Sendto(fd, q, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return socket{}, false
	}
	reply := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, reply, 0)
	// struct inet_diag_msg ends in the user and the inode.
	if err != nil || n < headerSize+72 || binary.NativeEndian.Uint16(reply[4:]) != unix.SOCK_DIAG_BY_FAMILY {
		return socket{}, false
	}
	body = reply[headerSize:]
	s := socket{int(binary.NativeEndian.Uint32(body[64:])), uint64(binary.NativeEndian.Uint32(body[68:]))}
	return s, s.inode != 0 // without an inode nobody holds it any more
}

// listedSocket finds the socket that is bound to local, or to its port on every
// address, in the kernel's list (proc_pid_net(5)).
func listedSocket(proto firewall.Proto, local netip.AddrPort) (socket, bool) {
	addr := local.Addr().Unmap()
	tables := []string{string(proto) + "6"}
	if addr.Is4() {
		tables = []string{string(proto), string(proto) + "6"} // a socket of IPv6 can speak IPv4
	}
	for _, table := range tables {
		f, err := os.Open("/proc/thread-self/net/" + table)
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(io.LimitReader(f, maxTable))
		for lines.Scan() {
			if s, ok := parseSocket(lines.Bytes(), addr, local.Port()); ok {
				f.Close()
				return s, true
			}
		}
		f.Close()
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

// findProcess finds a process of uid that holds the socket: first among those
// that were found lately, then the youngest first. The zero process means that
// there is none, or none in time.
func findProcess(inode uint64, uid int, recent []int) process {
	begin := time.Now()
	want := fmt.Sprintf("socket:[%d]", inode)
	for _, pid := range recent {
		if holds(pid, uid, want) {
			return describe(pid)
		}
	}
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
	for _, pid := range pids {
		if time.Since(begin) > searchLimit {
			break
		}
		if holds(pid, uid, want) {
			return describe(pid)
		}
	}
	return process{}
}

// holds reports whether a process of uid has the file open.
func holds(pid, uid int, want string) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	if info, err := os.Lstat(dir); err != nil || info.Sys().(*syscall.Stat_t).Uid != uint32(uid) {
		return false
	}
	fds, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return false
	}
	for _, fd := range fds {
		if target, err := os.Readlink(dir + "/fd/" + fd.Name()); err == nil && target == want {
			return true
		}
	}
	return false
}

// describe reads what a process says of itself; nothing when it is gone.
func describe(pid int) process {
	p := process{pid: pid}
	dir := "/proc/" + strconv.Itoa(pid)
	exe, _ := os.Readlink(dir + "/exe")
	p.exe = exe[:min(len(exe), maxExe)]
	f, err := os.Open(dir + "/cmdline")
	if err != nil {
		return p
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, 8*maxCmd))
	if len(text) == 8*maxCmd {
		text = text[:7*maxCmd] // half a secret at the end would not be known for one
	}
	p.args = strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	return p
}
