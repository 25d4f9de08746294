package kernel

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
)

// probePort is "discard" (RFC 863), which no allowlist has a use for.
const probePort = 9

// firstWait and lastWait bound the wait for the refusal of a connection, in
// milliseconds. The kernel's own reset comes before connect returns. It cannot
// come while the route to an IPv6 address that was added a moment ago is still
// missing, as at a container's start, so the connection is tried again, each
// time with twice the wait; only what is let out takes the sum of 2.5 seconds.
const (
	firstWait = 10
	lastWait  = 1280
)

// probePackets sends one packet of each kind and errs with those that were let
// out.
func probePackets(ipv6 bool, plan firewall.Plan) error {
	if plan.Open {
		return nil
	}
	if !slices.ContainsFunc(plan.Probes, func(a netip.Addr) bool { return a.Is6() == ipv6 }) {
		return errors.New("the plan names no address that a test packet may be sent to")
	}
	target, ok := refusedTarget(ipv6, plan)
	if !ok {
		return nil // the policy allows port 9 at every one of them
	}
	var out []error
	say := func(what string, to any, err error) {
		if err != nil {
			out = append(out, fmt.Errorf("%s to %s: %w", what, to, err))
		}
	}
	say("a UDP packet", target, probeDatagram(target, unix.SOCK_DGRAM, unix.IPPROTO_UDP, []byte("probe")))
	say("an ICMP echo", target.Addr(), probePing(target.Addr()))
	if answers(plan.V4) { // what is dropped in silence can be told from what is lost only by waiting
		say("a TCP connection", target, probeConnect(target))
	}
	return errors.Join(out...)
}

// refusedTarget picks an address and port that no address entry opens.
func refusedTarget(ipv6 bool, plan firewall.Plan) (netip.AddrPort, bool) {
	for _, addr := range plan.Probes {
		if addr.Is6() != ipv6 {
			continue
		}
		open := slices.ContainsFunc(plan.Sets, func(s firewall.Set) bool {
			return slices.ContainsFunc(s.Entries, func(e firewall.SetEntry) bool {
				return e.Port.Number == probePort && e.Prefix.Contains(addr)
			})
		})
		if !open {
			return netip.AddrPortFrom(addr, probePort), true
		}
	}
	return netip.AddrPort{}, false
}

// answers reports whether the plan refuses with an answer.
func answers(tables []firewall.Table) bool {
	return slices.ContainsFunc(tables, func(t firewall.Table) bool {
		return slices.ContainsFunc(t.Chains, func(c firewall.Chain) bool { return c.Name == firewall.ChainRefuse })
	})
}

var errLetOut = errors.New("it was let out")

// judge reads the outcome of sending. The packet filter's refusal in OUTPUT
// comes back to the sender as EPERM, or as the error of the ICMP answer.
func judge(err error) error {
	switch {
	case err == nil:
		return errLetOut
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES), errors.Is(err, unix.EHOSTUNREACH), errors.Is(err, unix.ECONNREFUSED):
		return nil
	case noRoute(err):
		return nil
	}
	return fmt.Errorf("it failed in an unknown way: %w", err)
}

// openError reads why a socket cannot be had. Only a family that is switched
// off is as good as a refusal.
func openError(err error) error {
	if errors.Is(err, unix.EAFNOSUPPORT) {
		return nil
	}
	return fmt.Errorf("opening a socket: %w", err)
}

// noRoute reports whether the packet never reached the packet filter.
func noRoute(err error) bool {
	return errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EADDRNOTAVAIL)
}

// socket opens a socket on the calling thread, thus in its namespace.
func socket(addr netip.Addr, kind, proto int) (int, error) {
	domain := unix.AF_INET
	if addr.Is6() {
		domain = unix.AF_INET6
	}
	fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, proto)
	if err != nil {
		return -1, err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, probeMark); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("marking it as our own: %w", err)
	}
	return fd, nil
}

func sockaddr(to netip.AddrPort) unix.Sockaddr {
	if to.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
}

// probePing sends an echo request from a raw socket. The socket that needs no
// capability for it would not do: over IPv6 it hides the refusal.
func probePing(to netip.Addr) error {
	proto, echo := unix.IPPROTO_ICMP, byte(8)
	if to.Is6() {
		proto, echo = unix.IPPROTO_ICMPV6, 128
	}
	message := []byte{echo, 0, 0, 0, 0, 0, 0, 1}
	return probeDatagram(netip.AddrPortFrom(to, 0), unix.SOCK_RAW, proto, message)
}

func probeDatagram(to netip.AddrPort, kind, proto int, payload []byte) error {
	fd, err := socket(to.Addr(), kind, proto)
	if err != nil {
		return openError(err)
	}
	defer unix.Close(fd)
	return judge(unix.Sendto(fd, payload, 0, sockaddr(to)))
}

func probeConnect(to netip.AddrPort) error {
	for wait := firstWait; wait <= lastWait; wait *= 2 {
		if err := probeConnectOnce(to, wait); !errors.Is(err, errLetOut) {
			return err
		}
	}
	return errLetOut
}

func probeConnectOnce(to netip.AddrPort, wait int) error {
	fd, err := socket(to.Addr(), unix.SOCK_STREAM, 0)
	if err != nil {
		return openError(err)
	}
	defer unix.Close(fd)
	err = unix.Connect(fd, sockaddr(to))
	if !errors.Is(err, unix.EINPROGRESS) {
		return judge(err)
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	n, err := unix.Poll(poll, wait)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("waiting for the refusal: %w", err)
	}
	if n == 0 || err != nil { // no answer yet, or a signal; tried again
		return errLetOut
	}
	code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return fmt.Errorf("reading the refusal: %w", err)
	}
	// The packet filter resets. Only a packet that has passed can find out that
	// no machine is at the next hop.
	if code == 0 || unix.Errno(code) == unix.EHOSTUNREACH {
		return errLetOut
	}
	return judge(unix.Errno(code))
}
