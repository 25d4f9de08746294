package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/diag"
)

// Flow is a connection that the kernel tracks, of any protocol.
type Flow struct {
	Src, Dst netip.AddrPort // as whoever began it sees it; port 0 for protocols without ports
	Real     netip.AddrPort // who answers: differs from Dst when the destination was translated
	Proto    uint8          // unix.IPPROTO_TCP, …
}

// dumpTries is how often a listing is begun anew because the table changed
// while it was read.
const dumpTries = 5

// Cut makes the kernel forget every connection of the namespace, in both
// families, that keep does not want, and returns how many those were. A
// forgotten connection is judged by the rules as if it began with its next
// packet. The rules that refuse it must be in place before, or it is only
// remembered again. TCP sockets of such connections are ended, so that their
// programs do not wait for bytes that never come.
func (k *Kernel) Cut(keep func(Flow) bool) (int, error) {
	// Reading the table takes milliseconds, however little it holds, because it
	// is all namespaces' and made for a whole machine: so it is asked first
	// whether there is anything. The kernel deletes in one family at a time: so it
	// is read once for both, as there is most often nothing to forget. When it
	// cannot be read, deleting says why.
	if n, err := k.lister.tracked(); err == nil && n == 0 {
		return 0, nil
	}
	unwanted := func(f Flow) bool { return !keep(f) }
	if flows, err := k.Flows(); err == nil && !slices.ContainsFunc(flows, unwanted) {
		return 0, nil
	}
	var gone []Flow
	total, err := k.forget(func(f Flow) bool {
		kept := keep(f)
		if !kept && f.Proto == unix.IPPROTO_TCP {
			gone = append(gone, f)
		}
		return kept
	})
	if err != nil {
		return total, err
	}
	for _, f := range gone {
		// Whichever end is ours.
		err = errors.Join(err, k.diag.destroySocket(f.Src, f.Dst), k.diag.destroySocket(f.Dst, f.Src))
	}
	if err != nil {
		err = fmt.Errorf("ending sockets: %w", err)
	}
	return total, err
}

// getStats and globalEntries are IPCTNL_MSG_CT_GET_STATS and
// CTA_STATS_GLOBAL_ENTRIES of linux/netfilter/nfnetlink_conntrack.h.
const (
	getStats      = 5
	globalEntries = 1
)

// tracked returns how many connections the namespace tracks.
func (c *conn) tracked() (uint32, error) {
	return c.askNumber(unix.NFNL_SUBSYS_CTNETLINK<<8|getStats, globalEntries)
}

// forget is Cut for the kernel's table of connections.
func (k *Kernel) forget(keep func(Flow) bool) (int, error) {
	total := 0
	for _, family := range []netlink.InetFamily{unix.AF_INET, unix.AF_INET6} {
		n, err := k.cutFamily(family, keep)
		total += n
		switch {
		case err == nil:
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP):
			return total, diag.WithHint(fmt.Errorf("ending connections: %w: %w", ErrMissingModule, err),
				"on the machine that runs the container: modprobe nf_conntrack_netlink")
		default:
			return total, fmt.Errorf("ending connections: %w", err)
		}
	}
	return total, nil
}

func (k *Kernel) cutFamily(family netlink.InetFamily, keep func(Flow) bool) (total int, err error) {
	for range dumpTries {
		var n uint
		n, err = k.sets.ConntrackDeleteFilters(netlink.ConntrackTable, family, cutFilter(keep))
		total += int(n)
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return total, err
}

// Flows lists the connections that the namespace tracks.
func (k *Kernel) Flows() ([]Flow, error) {
	var err error
	for range dumpTries {
		var listed []*netlink.ConntrackFlow
		listed, err = k.sets.ConntrackTableList(netlink.ConntrackTable, unix.AF_UNSPEC)
		if err != nil {
			continue
		}
		flows := make([]Flow, len(listed))
		for i, f := range listed {
			flows[i] = readFlow(f)
		}
		return flows, nil
	}
	return nil, fmt.Errorf("listing connections: %w", err)
}

// cutFilter is a predicate in the form that package netlink takes.
type cutFilter func(Flow) bool

// MatchConntrackFlow reports whether the flow is to be forgotten.
func (keep cutFilter) MatchConntrackFlow(f *netlink.ConntrackFlow) bool { return !keep(readFlow(f)) }

func readFlow(f *netlink.ConntrackFlow) Flow {
	return Flow{
		Src:   addrPort(f.Forward.SrcIP, f.Forward.SrcPort),
		Dst:   addrPort(f.Forward.DstIP, f.Forward.DstPort),
		Real:  addrPort(f.Reverse.SrcIP, f.Reverse.SrcPort),
		Proto: f.Forward.Protocol,
	}
}

// addrPort is the zero value for what is no address.
func addrPort(ip net.IP, port uint16) netip.AddrPort {
	addr, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(addr.Unmap(), port)
}
