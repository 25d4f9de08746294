package main

import (
	"errors"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/firewall/owner"
	"github.com/org/claude-sandbox/firewall/resolver"
	"github.com/org/claude-sandbox/initproc"
	"github.com/org/claude-sandbox/internal/diag"
)

// drainTimeout bounds the wait for the last reports at the end. The kernel
// delivers them at once.
const drainTimeout = time.Second

// beginRecords makes the log the place of w's decisions. who is the account of
// the command, the zero Account when there is none.
func (w *wall) beginRecords(log *audit.Log, o runOptions, who initproc.Account, upstreams resolvers) error {
	w.lookup = owner.New(onPort53(upstreams.addrs), os.Environ())
	if o.askAgent {
		w.lookup.AskAgent()
	}
	if !o.sidecar {
		if err := w.lookup.SearchAs(who.UID, who.GID); err != nil {
			return diag.WithHint(err, initproc.HintCapabilities)
		}
	}
	w.recorder = audit.NewRecorder(log.Record, w.lookup.Complete)
	return nil
}

// watchRefusals records what the packet filter refuses from now on. Without
// it the packet filter refuses the same.
func (w *wall) watchRefusals() error {
	refusals, err := w.kernel.OpenRefusals()
	if err != nil {
		return err
	}
	w.refusals = refusals
	w.refusalsEnd = make(chan error, 1)
	go func() { w.refusalsEnd <- refusals.Serve(w.refused, w.lost) }()
	return nil
}

// watchHeld looks from now on whose the connections are that the packet filter
// is about to refuse. failed hears when that has ended; the packet filter
// refuses the same without it.
func (w *wall) watchHeld(failed func(error)) error {
	if w.refusals == nil || !w.lookup.FindsProcesses() {
		return nil
	}
	holder, err := w.kernel.OpenHolder()
	if err != nil {
		return err
	}
	w.holder = holder
	go func() {
		if err := holder.Serve(w.lookup.Hold); err != nil {
			failed(err)
		}
	}()
	return nil
}

// endRecords writes what has not been written yet.
func (w *wall) endRecords() error {
	var errs []error
	if w.holder != nil {
		w.holder.Close()
	}
	if w.refusals != nil {
		errs = append(errs, w.refusals.Drain())
		select {
		case err := <-w.refusalsEnd:
			errs = append(errs, err)
		case <-time.After(drainTimeout):
		}
		w.refusals.Close()
	}
	return errors.Join(append(errs, w.recorder.Close())...)
}

// refused records a packet that was refused, or let out in mode audit.
func (w *wall) refused(r kernel.Refusal) {
	addr := r.Dst.Addr()
	rec := audit.Record{
		Layer: audit.LayerIP, Name: w.origins.of(addr), Dst: addr.String(), Port: r.Dst.Port(), Proto: protocol(r.Proto),
		UID: &r.UID, Src: r.Src,
	}
	rec.SrcProto = rec.Proto
	policy := w.book.inForce()
	d := policy.Refused(rec.Name, addr, rec.Port, rec.Proto)
	if r.Headers && w.facts.Headers && !r.Passed {
		d = firewall.RefusedHeaders()
	}
	if r.Passed {
		d = policy.Decide(rec.Name, addr, rec.Port, rec.Proto)
		if !d.Allowed() { // the policy has changed since
			d = firewall.Decision{Verdict: firewall.Allow, Rule: firewall.RuleUnlisted, Reason: "let out by the policy before: " + d.Reason}
		}
	}
	rec.Verdict, rec.Rule, rec.Reason = d.Verdict, d.Rule, d.Reason
	_ = w.record(rec) // the packet is refused whether or not that can be written
}

// lost records that packets came faster than they could be looked at.
func (w *wall) lost(packets int, passed bool) {
	if passed {
		_ = w.record(audit.Record{Verdict: firewall.Allow, Layer: audit.LayerIP, Count: packets, Rule: firewall.RuleUnlisted,
			Reason: "more connections were let out than could be looked at one by one"})
		return
	}
	_ = w.record(audit.Record{Verdict: firewall.Deny, Layer: audit.LayerIP, Count: packets, Rule: "flood",
		Reason: "more packets were refused than could be looked at one by one"})
}

// inForce returns the policy that judges now.
func (b *book) inForce() *firewall.Policy {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.policy
}

// protocol names an IP protocol as records do.
func protocol(number uint8) firewall.Proto {
	switch number {
	case unix.IPPROTO_TCP:
		return firewall.TCP
	case unix.IPPROTO_UDP:
		return firewall.UDP
	case unix.IPPROTO_ICMP:
		return audit.ICMP
	case unix.IPPROTO_ICMPV6:
		return audit.ICMPv6
	}
	return firewall.Proto(strconv.Itoa(int(number)))
}

// maxOrigins bounds the addresses whose name is known. Any one is forgotten
// for a new one; a record about it is then by address only.
const maxOrigins = 16384

// origins knows for which name an address was last given out, also when its
// time is over: that is when somebody asks why it is closed. It stands before
// the installer of addresses. Safe for concurrent use.
type origins struct {
	resolver.Installer

	mu    sync.Mutex
	names map[netip.Addr]string
}

func newOrigins(next resolver.Installer) *origins {
	return &origins{Installer: next, names: map[netip.Addr]string{}}
}

// Allow is resolver.Installer's.
func (o *origins) Allow(names []string, addr netip.Addr, ports []firewall.Port, timeout time.Duration) error {
	if err := o.Installer.Allow(names, addr, ports, timeout); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.names[addr]; !known && len(o.names) >= maxOrigins {
		for old := range o.names {
			delete(o.names, old)
			break
		}
	}
	o.names[addr] = names[0]
	return nil
}

// of returns the name, "" when there is none.
func (o *origins) of(addr netip.Addr) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.names[addr]
}
