package live

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/kernel"
)

// drainTimeout bounds the wait for the last reports at the end. The kernel
// delivers them at once.
const drainTimeout = time.Second

// recordRefusals records what the packet filter refuses from now on, and looks
// for the processes of connections that it is about to refuse. Without either
// the packet filter refuses the same.
func (f *Firewall) recordRefusals() {
	unrecorded := func(err error) {
		f.options.Warn(fmt.Errorf("refused connections are not recorded, names are: %w", err))
	}
	unnamed := func(err error) {
		f.options.Warn(fmt.Errorf("the process of a refused connection is not recorded, its user is: %w", err))
	}
	refusals, err := f.options.Kernel.OpenRefusals()
	if err != nil {
		unrecorded(err)
		return
	}
	f.refusals, f.reported = refusals, make(chan error, 1)
	go func() { f.reported <- refusals.Serve(f.recordRefusal, f.recordLoss) }()
	if !f.options.Lookup.FindsProcesses() {
		return
	}
	if f.holder, err = f.options.Kernel.OpenHolder(); err != nil {
		unnamed(err)
		return
	}
	go func() {
		if err := f.holder.Serve(f.options.Lookup.Hold); err != nil {
			unnamed(err)
		}
	}()
}

// Close waits until what was refused so far is recorded. The rules stay, and so
// do the resolver and the guard until the process ends.
func (f *Firewall) Close() error {
	if f.holder != nil {
		f.holder.Close()
	}
	if f.refusals == nil {
		return nil
	}
	err := f.refusals.Drain()
	select {
	case end := <-f.reported:
		err = errors.Join(err, end)
	case <-time.After(drainTimeout):
	}
	f.refusals.Close()
	return err
}

// recordRefusal records a packet that was refused, or let out in mode audit.
func (f *Firewall) recordRefusal(r kernel.Refusal) {
	addr := r.Dst.Addr()
	rec := audit.Record{
		Layer: audit.LayerIP, Name: f.allowed.nameAt(addr), Dst: addr.String(), Port: r.Dst.Port(), Proto: protocolName(r.Proto),
		UID: &r.UID, Src: r.Src,
	}
	rec.SrcProto = rec.Proto
	policy := f.allowed.inForce()
	d := policy.Refused(rec.Name, addr, rec.Port, rec.Proto)
	if r.Headers && f.options.Kernel.Facts().Headers && !r.Passed {
		d = firewall.RefusedHeaders()
	}
	if r.Passed {
		d = policy.Decide(rec.Name, addr, rec.Port, rec.Proto)
		if !d.Allowed() { // the policy has changed since
			d = firewall.Decision{Verdict: firewall.Allow, Rule: firewall.RuleUnlisted, Reason: "let out by the policy before: " + d.Reason}
		}
	}
	rec.Verdict, rec.Rule, rec.Reason = d.Verdict, d.Rule, d.Reason
	_ = f.decisions.record(rec) // the packet is refused whether or not that can be written
}

// recordLoss records that packets came faster than they could be looked at.
func (f *Firewall) recordLoss(packets int, passed bool) {
	r := audit.Record{Verdict: firewall.Deny, Layer: audit.LayerIP, Count: packets, Rule: "flood",
		Reason: "more packets were refused than could be looked at one by one"}
	if passed {
		r.Verdict, r.Rule = firewall.Allow, firewall.RuleUnlisted
		r.Reason = "more connections were let out than could be looked at one by one"
	}
	_ = f.decisions.record(r)
}

// protocolName names an IP protocol as records do.
func protocolName(number uint8) firewall.Proto {
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
