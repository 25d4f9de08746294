package main

import (
	"fmt"
	"net/netip"
	"runtime"
	"sync"
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
	rememberAllowed   = 10 * time.Minute // how long an allowed destination's process is not looked for again
	maxRemembered     = 4096
	rememberHeld      = 5 * time.Second // how long it is known whose a held packet was
	maxHeldOwners     = 256
)

// witness finds out which process a decision was about, as long as its socket
// exists. A program that waits for its answer, as for a name or from the guard,
// is found, and so is one whose connection's first packet is held. Where no
// process can be seen or none is found in time the record leaves it out.
type witness struct {
	find    func(socket) owner // one call at a time; nil = processes cannot be seen
	turn    chan struct{}      // holds one value while find runs
	servers []netip.AddrPort   // the name servers that programs mean when they ask
	redact  *redact.Redactor
	now     func() time.Time

	mu      sync.Mutex
	second  time.Time
	spent   map[firewall.Verdict]int
	allowed map[destination]time.Time // when an allowed destination's process was looked for
	held    map[flow]heldOwner
}

// destination is what a process was looked for at.
type destination struct {
	layer     audit.Layer
	name, dst string
	port      uint16
}

// flow is a TCP connection by its ends.
type flow struct{ src, dst netip.AddrPort }

type heldOwner struct {
	owner
	at time.Time
}

// newWitness returns a witness who sees no process. servers are the name servers
// that programs know of. environ is what the processes inherit: values that are
// secret by their variable's name are kept out of the records.
func newWitness(servers []netip.AddrPort, environ []string) *witness {
	return &witness{
		turn: make(chan struct{}, 1), servers: servers,
		redact: redact.New(redact.Options{Secrets: redact.SecretsOf(environ), Patterns: true}),
		now:    time.Now, spent: map[firewall.Verdict]int{}, allowed: map[destination]time.Time{}, held: map[flow]heldOwner{},
	}
}

// seeProcessesOf lets w see the account's processes in this PID namespace. It
// needs CAP_SETUID and CAP_SETGID, only now.
func (w *witness) seeProcessesOf(who account) error {
	searches, answers := make(chan uint64), make(chan owner)
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
		f := &finder{uid: who.uid, redact: w.redact}
		for inode := range searches {
			answers <- f.find(inode)
		}
	}()
	if err := <-ready; err != nil {
		return err
	}
	w.find = func(s socket) owner {
		searches <- s.inode
		return <-answers
	}
	// A change of ids can make the memory of the whole process readable again.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hiding the memory of sbx-init: %w", err)
	}
	return nil
}

// askAgent lets w ask the first process of the agent's container, which must be
// 'sbx-init reap'.
func (w *witness) askAgent() {
	a := &asker{}
	w.find = func(s socket) owner {
		o := a.find(s)
		o.Cmd = w.redact.String(o.Cmd)
		return o
	}
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
	if o, ok := w.ownerOfHeld(r); ok {
		setOwner(r, o)
		return
	}
	if r.Src.Port() == 0 || !w.worth(r) {
		return
	}
	find := func() (socket, bool) { return w.findSocket(r) }
	s, ok := find()
	if !ok {
		return
	}
	if r.UID == nil {
		r.UID = &s.uid
	}
	setOwner(r, w.whose(s, find))
}

func setOwner(r *audit.Record, o owner) { r.PID, r.Exe, r.Cmd, r.Guess = o.PID, o.Exe, o.Cmd, o.Guess }

// whose returns who holds the socket that find has found, nobody when others ask
// for too long.
func (w *witness) whose(s socket, find func() (socket, bool)) owner {
	if w.find == nil {
		return owner{}
	}
	select {
	case w.turn <- struct{}{}:
	case <-time.After(searchLimit):
		return owner{}
	}
	o := w.find(s)
	<-w.turn
	if o.Guess {
		// Somebody held it all the time, and has not just ended.
		if now, ok := find(); !ok || now.inode != s.inode {
			return owner{}
		}
	}
	return o
}

// hold remembers whose the connection is that a held packet begins. Its socket
// is there until the packet is let go.
func (w *witness) hold(src, dst netip.AddrPort) {
	if !w.worth(&audit.Record{Verdict: firewall.Deny}) {
		return
	}
	find := func() (socket, bool) { return connectedSocket(firewall.TCP, src, dst) }
	s, ok := find()
	if !ok {
		return
	}
	o := w.whose(s, find)
	if o.PID == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	for f, h := range w.held { // a packet that was let out after all is no decision of ours
		if now.Sub(h.at) > rememberHeld {
			delete(w.held, f)
		}
	}
	if len(w.held) < maxHeldOwners {
		w.held[flow{src, dst}] = heldOwner{o, now}
	}
}

// ownerOfHeld returns whose the packet was that a record is about, if it was
// held a moment ago.
func (w *witness) ownerOfHeld(r *audit.Record) (owner, bool) {
	if r.Layer != audit.LayerIP || r.SrcProto != firewall.TCP {
		return owner{}, false
	}
	dst, err := netip.ParseAddr(r.Dst)
	if err != nil {
		return owner{}, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f := flow{r.Src, netip.AddrPortFrom(dst, r.Port)}
	h, ok := w.held[f]
	delete(w.held, f)
	return h.owner, ok && w.now().Sub(h.at) <= rememberHeld
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
