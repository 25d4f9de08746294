package live

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/kernel"
)

// connections decides about connections that exist, as the rules decide about
// new ones.
type connections struct {
	snapshot
	local    map[netip.Addr]bool     // our own addresses, in addition to loopback
	starting bool                    // nothing of ours runs yet
	guard    map[netip.AddrPort]bool // our own ends of the connections that the guard made
}

// ownAddresses lists the addresses of this machine.
func ownAddresses() (map[netip.Addr]bool, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("listing our own addresses: %w", err)
	}
	own := map[netip.Addr]bool{}
	for _, a := range addrs {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own[prefix.Addr().Unmap()] = true
		}
	}
	return own, nil
}

func (c connections) isLocal(a netip.Addr) bool { return a.IsLoopback() || c.local[a] }

// keep reports whether a connection may go on. The rules let every packet of a
// tracked connection pass, so one that must not go on has to be forgotten.
func (c connections) keep(f kernel.Flow) bool {
	to := firewall.Port{Number: f.Real.Port(), Proto: firewall.TCP}
	switch f.Proto {
	case unix.IPPROTO_TCP:
	case unix.IPPROTO_UDP:
		to.Proto = firewall.UDP
	default:
		return false
	}
	from, at := c.isLocal(f.Src.Addr()), c.isLocal(f.Real.Addr())
	switch {
	case from && at:
		// A program that was led to a resolver before we started would go on being
		// led to a place where no resolver is any more.
		return !c.starting || f.Dst == f.Real
	case from && to.Number == 53:
		// The rules refuse port 53 to all but the resolver before they look at
		// connections, so only its own pass.
		return !c.starting
	case from && c.policy.Guards(to) && (c.policy.GuardsAddresses() || !c.policy.Decide("", f.Real.Addr(), to.Number, to.Proto).Allowed()):
		// One that the guard did not make began when it was off, or by an address
		// entry that is gone or guarded now: it was never asked for its name.
		return c.guard[f.Src] && c.connects(f.Real.Addr(), to)
	case from:
		return c.connects(f.Real.Addr(), to)
	case at:
		return to.Proto == firewall.TCP && slices.Contains(c.policy.Inbound(), to.Number)
	}
	return false // through us, from others to others
}

// cut ends the connections and closes the learned addresses that the policy of
// the allowed set does not allow. starting says that nothing of ours runs yet.
func (f *Firewall) cut(starting bool) error {
	return f.allowed.read(func(s snapshot) error {
		own, err := ownAddresses()
		if err != nil {
			return err
		}
		c := connections{s, own, starting, f.servers.guardSources()}
		if _, err := f.options.Kernel.Prune(s.opens); err != nil {
			return err
		}
		_, err = f.options.Kernel.Cut(c.keep)
		return err
	})
}
