package owner

import (
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/internal/redact"
)

// Bounds of the search for processes, which costs up to a millisecond: an
// agent that is refused in a loop must not keep us busy with it. A connection that is allowed
// has a bound of its own, so that it cannot hide a refusal.
const (
	searchesPerSecond = 50
	rememberAllowed   = 10 * time.Minute // how long an allowed destination's process is not looked for again
	maxRemembered     = 4096
	rememberHeld      = 5 * time.Second // how long the process of a held packet is known
	maxHeld           = 256
)

// Process is a process as records have it. The zero Process is none.
type Process struct {
	PID int    `json:"pid,omitempty"`
	Exe string `json:"exe,omitempty"` // path of the executable, at most 256 bytes
	Cmd string `json:"cmd,omitempty"` // command line, redacted, at most 256 bytes
}

// Lookup finds the process behind a decision as long as its socket exists. A
// program that waits for its answer, as for a name or from the guard, is found,
// and so is one whose connection's first packet is held. It is safe for
// concurrent use once one of SearchAs and AskAgent has returned.
type Lookup struct {
	sockets *kernel.Sockets
	find    func(kernel.Socket) Process // one call at a time; nil = processes cannot be seen
	turn    chan struct{}               // holds one value while find runs
	servers []netip.AddrPort            // the name servers that programs mean when they ask
	redact  *redact.Redactor
	now     func() time.Time

	mu      sync.Mutex
	second  time.Time
	spent   map[firewall.Verdict]int
	allowed map[destination]time.Time // when an allowed destination's process was looked for
	held    map[flow]heldProcess
}

// destination is what a process was looked for at.
type destination struct {
	layer     audit.Layer
	name, dst string
	port      uint16
}

// flow is a TCP connection by its ends.
type flow struct{ src, dst netip.AddrPort }

type heldProcess struct {
	Process
	at time.Time
}

// New returns a Lookup that finds users of the calling thread's network
// namespace, and no process before SearchAs or AskAgent. servers are the name servers that programs know of. environ is what
// the processes inherit: values that are secret by their variable's name are
// kept out of command lines.
func New(servers []netip.AddrPort, environ []string) (*Lookup, error) {
	sockets, err := kernel.OpenSockets(searchLimit)
	if err != nil {
		return nil, err
	}
	return &Lookup{
		sockets: sockets,
		turn:    make(chan struct{}, 1), servers: servers, redact: newRedactor(environ),
		now: time.Now, spent: map[firewall.Verdict]int{}, allowed: map[destination]time.Time{}, held: map[flow]heldProcess{},
	}, nil
}

func newRedactor(environ []string) *redact.Redactor {
	return redact.New(redact.Options{Secrets: redact.SecretsOf(environ), Patterns: true})
}

// SearchAs makes l search a user's processes in this PID namespace. It needs
// CAP_SETUID and CAP_SETGID, only during the call.
func (l *Lookup) SearchAs(uid, gid int) error {
	searches, answers := make(chan uint64), make(chan Process)
	ready := make(chan error)
	go func() {
		// Never unlocked: the ids belong to this thread. Reading the files of
		// another user's process takes his ids or CAP_SYS_PTRACE. The ids for
		// files give that user no right to this thread, which the real ones would.
		runtime.LockOSThread()
		err := setFileIDs(uid, gid)
		ready <- err
		if err != nil {
			return
		}
		s := &scanner{uid: uid, redact: l.redact}
		for inode := range searches {
			answers <- s.find(inode)
		}
	}()
	if err := <-ready; err != nil {
		return err
	}
	l.find = func(s kernel.Socket) Process {
		searches <- s.Inode
		return <-answers
	}
	// A change of ids can make the memory of the whole process readable again.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hiding the memory of this process: %w", err)
	}
	return nil
}

// AskAgent makes l ask the first process of the agent's container, which must
// have called Answer.
func (l *Lookup) AskAgent() {
	c := &client{}
	l.find = func(s kernel.Socket) Process {
		p := c.find(s)
		p.Cmd = l.redact.String(p.Cmd)
		return p
	}
}

// FindsProcesses reports whether SearchAs or AskAgent was called.
func (l *Lookup) FindsProcesses() bool { return l.find != nil }

func setFileIDs(uid, gid int) error {
	const noID = 0xffffffff // nothing changes, and the present id is returned
	for _, id := range []struct {
		call uintptr
		to   int
	}{{unix.SYS_SETFSGID, gid}, {unix.SYS_SETFSUID, uid}} {
		_, _, _ = unix.RawSyscall(id.call, uintptr(id.to), 0, 0)
		if now, _, _ := unix.RawSyscall(id.call, noID, 0, 0); int(now) != id.to {
			return fmt.Errorf("looking at processes as user %d: the kernel did not allow it", uid)
		}
	}
	return nil
}

// Complete adds the user and, where it is found, the process to a record. The
// client waits meanwhile, which keeps its socket alive. An allowed destination
// pays for that once in ten minutes and no more.
func (l *Lookup) Complete(r *audit.Record) {
	if p, ok := l.processOfHeld(r); ok {
		setProcess(r, p)
		return
	}
	if r.Src.Port() == 0 || !l.withinBounds(r) {
		return
	}
	s, ok := l.socketOf(r)
	if !ok {
		return
	}
	if r.UID == nil {
		r.UID = &s.UID
	}
	setProcess(r, l.processOf(s))
}

func setProcess(r *audit.Record, p Process) { r.PID, r.Exe, r.Cmd = p.PID, p.Exe, p.Cmd }

// processOf returns the process that holds a socket, none when other searches
// take too long.
func (l *Lookup) processOf(s kernel.Socket) Process {
	if l.find == nil {
		return Process{}
	}
	select {
	case l.turn <- struct{}{}:
	case <-time.After(searchLimit):
		return Process{}
	}
	p := l.find(s)
	<-l.turn
	return p
}

// Hold remembers for 5 seconds which process begins the TCP connection from src
// to dst. Its first packet is held meanwhile, so its socket is there.
func (l *Lookup) Hold(src, dst netip.AddrPort) {
	if !l.withinBounds(&audit.Record{Verdict: firewall.Deny}) {
		return
	}
	s, ok := l.sockets.Find(firewall.TCP, src, dst)
	if !ok {
		return
	}
	p := l.processOf(s)
	if p.PID == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for f, h := range l.held { // a packet that was let out after all is no decision of ours
		if now.Sub(h.at) > rememberHeld {
			delete(l.held, f)
		}
	}
	if len(l.held) < maxHeld {
		l.held[flow{src, dst}] = heldProcess{p, now}
	}
}

// processOfHeld returns the process of the packet that a record is about, if it
// was held a moment ago.
func (l *Lookup) processOfHeld(r *audit.Record) (Process, bool) {
	if r.Layer != audit.LayerIP || r.SrcProto != firewall.TCP {
		return Process{}, false
	}
	dst, err := netip.ParseAddr(r.Dst)
	if err != nil {
		return Process{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f := flow{r.Src, netip.AddrPortFrom(dst, r.Port)}
	h, ok := l.held[f]
	delete(l.held, f)
	return h.Process, ok && l.now().Sub(h.at) <= rememberHeld
}

// withinBounds reports whether a search for a record's process is within the
// bounds, and counts it.
func (l *Lookup) withinBounds(r *audit.Record) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if r.Verdict == firewall.Allow {
		d := destination{r.Layer, r.Name, r.Dst, r.Port}
		if last, ok := l.allowed[d]; ok && now.Sub(last) < rememberAllowed {
			return false
		}
		if len(l.allowed) >= maxRemembered {
			clear(l.allowed)
		}
		l.allowed[d] = now
	}
	if now.Sub(l.second) >= time.Second {
		l.second = now
		clear(l.spent)
	}
	l.spent[r.Verdict]++
	return l.spent[r.Verdict] <= searchesPerSecond
}
