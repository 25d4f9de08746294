package main

import (
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/kernel"
)

// judge decides about connections that exist, as the rules decide about new ones.
type judge struct {
	page
	local    map[netip.Addr]bool     // our own addresses, beside loopback
	starting bool                    // nothing of ours runs yet
	guard    map[netip.AddrPort]bool // our own ends of the connections that the guard made
}

func newJudge(p page, starting bool) (judge, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return judge{}, fmt.Errorf("listing our own addresses: %w", err)
	}
	j := judge{page: p, local: map[netip.Addr]bool{}, starting: starting}
	for _, a := range addrs {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			j.local[prefix.Addr().Unmap()] = true
		}
	}
	return j, nil
}

func (j judge) isLocal(a netip.Addr) bool { return a.IsLoopback() || j.local[a] }

// keep reports whether a connection may go on. The rules let every packet of a
// tracked connection pass, so what must not go on has to be forgotten.
func (j judge) keep(f kernel.Flow) bool {
	to := firewall.Port{Number: f.Real.Port(), Proto: firewall.TCP}
	switch f.Proto {
	case unix.IPPROTO_TCP:
	case unix.IPPROTO_UDP:
		to.Proto = firewall.UDP
	default:
		return false
	}
	from, at := j.isLocal(f.Src.Addr()), j.isLocal(f.Real.Addr())
	switch {
	case from && at:
		// Whoever was led to a resolver before we started would go on being led
		// to where no resolver is any more.
		return !j.starting || f.Dst == f.Real
	case from && to.Number == 53:
		// The rules refuse port 53 to all but the resolver before they look at
		// connections, so only its own pass.
		return !j.starting
	case from && j.policy.Guards(to) && !j.policy.Decide("", f.Real.Addr(), to.Number, to.Proto).Allowed():
		// One that the guard did not make began when it was off, or by an
		// address entry that is gone: nobody has asked it for its name.
		return j.guard[f.Src] && j.connects(f.Real.Addr(), to)
	case from:
		return j.connects(f.Real.Addr(), to)
	case at:
		return to.Proto == firewall.TCP && j.inbound(to.Number)
	}
	return false // through us, from others to others
}

func (j judge) inbound(port uint16) bool {
	for _, p := range j.policy.Inbound() {
		if p == port {
			return true
		}
	}
	return false
}

// cut ends the connections and closes the learned addresses that the policy in
// the book does not allow.
func (w *wall) cut(starting bool) error {
	return w.book.read(func(p page) error {
		j, err := newJudge(p, starting)
		if err != nil {
			return err
		}
		if w.guard != nil {
			j.guard = w.guard.Sources()
		}
		if _, err := w.kernel.Prune(j.opens); err != nil {
			return err
		}
		_, err = w.kernel.Cut(j.keep)
		return err
	})
}
