package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
)

// The kernel's sockets, by their ends (sock_diag(7)).

// socketID appends struct inet_diag_req_v2 (linux/inet_diag.h): the socket of a
// protocol between two addresses, in any state, of any interface.
func (m *message) socketID(proto byte, local, remote netip.AddrPort) {
	family := byte(unix.AF_INET)
	if local.Addr().Is6() {
		family = unix.AF_INET6
	}
	m.raw(family, proto, 0, 0)
	m.b = binary.NativeEndian.AppendUint32(m.b, ^uint32(0)) // in any state
	m.b = binary.BigEndian.AppendUint16(m.b, local.Port())
	m.b = binary.BigEndian.AppendUint16(m.b, remote.Port())
	for _, a := range []netip.Addr{local.Addr(), remote.Addr()} {
		raw := a.AsSlice()
		m.raw(raw...)
		m.raw(make([]byte, 16-len(raw))...)
	}
	m.b = binary.NativeEndian.AppendUint32(m.b, 0)          // of any interface
	m.b = binary.NativeEndian.AppendUint64(m.b, ^uint64(0)) // INET_DIAG_NOCOOKIE
}

// destroySocket ends the TCP socket between two addresses (SOCK_DESTROY), so
// that its program hears of it at once (ECONNABORTED); package netlink does it
// for IPv4 alone. No such socket is no error, and neither is a kernel that
// cannot: the rules then answer the next packet with a reset.
func (c *conn) destroySocket(local, remote netip.AddrPort) error {
	err := c.ask(nl.SOCK_DESTROY, unix.NLM_F_ACK, func(m *message) { m.socketID(unix.IPPROTO_TCP, local, remote) }, nil)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	return err
}

// Socket is a socket of the calling thread's network namespace.
type Socket struct {
	UID   int    // its owner
	Inode uint64 // by which /proc/PID/fd names it
}

// Sockets finds sockets of a network namespace, over one connection to the
// kernel that is kept. It is safe for concurrent use.
type Sockets struct{ conn *conn }

// OpenSockets returns those of the calling thread's network namespace. A search
// waits for the kernel's answer until limit.
func OpenSockets(limit time.Duration) (*Sockets, error) {
	c, err := dial(unix.NETLINK_INET_DIAG)
	if err != nil {
		return nil, fmt.Errorf("looking for sockets: %w", err)
	}
	c.limit = limit
	return &Sockets{c}, nil
}

// Find asks the kernel for the TCP or UDP socket with these ends, which costs
// the same among ten thousand. It reports false when there is none, when no
// process holds it any more, and when the kernel gives no answer in time.
func (s *Sockets) Find(proto firewall.Proto, local, remote netip.AddrPort) (Socket, bool) {
	if proto == firewall.UDP {
		local, remote = remote, local // the kernel has them the other way round there (net/ipv4/udp_diag.c)
	}
	local, remote = unmapped(local), unmapped(remote)
	if local.Addr().Is4() != remote.Addr().Is4() {
		return Socket{}, false
	}
	var found Socket
	err := s.conn.ask(unix.SOCK_DIAG_BY_FAMILY, 0, func(m *message) { m.socketID(protocol(proto), local, remote) }, func(body []byte) {
		if len(body) >= 72 { // struct inet_diag_msg ends in the user and the inode
			found = Socket{int(binary.NativeEndian.Uint32(body[64:])), uint64(binary.NativeEndian.Uint32(body[68:]))}
		}
	})
	return found, err == nil && found.Inode != 0 // without an inode no process holds it any more
}

func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
