package resolver

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// batch reads and answers the messages of a UDP socket, many with one system
// call. It blocks a thread of its own: the way over the runtime's poller and
// back costs more than a question whose answer is known. It belongs to one
// goroutine, but for stop and sendTo.
type batch struct {
	mu sync.Mutex
	fd int // -1 = closed

	in, out  [maxBatch]message
	messages [maxBatch][maxUDPMessage]byte
	clients  [maxBatch]unix.RawSockaddrInet6 // with room for an IPv4 one
	parts    [2 * maxBatch]unix.Iovec        // one for each of in and out
	answers  int                             // how many of out are to be sent
	drops    uint32                          // of the socket, when dropped was called last
}

// message is the kernel's struct mmsghdr (recvmmsg(2)).
type message struct {
	header unix.Msghdr
	size   uint32
}

// newBatch takes conn's socket over and closes conn, because the poller would
// otherwise wake up for each message.
func newBatch(conn *net.UDPConn) (*batch, error) {
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	b := &batch{fd: -1}
	var failure error
	err = raw.Control(func(fd uintptr) {
		if b.fd, failure = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); failure == nil {
			failure = unix.SetNonblock(b.fd, false)
		}
		// Without CAP_NET_ADMIN it is as much as net.core.rmem_max allows.
		if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, socketBuffer) != nil {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, socketBuffer)
		}
	})
	if err = errors.Join(err, failure); err != nil {
		b.close()
		return nil, err
	}
	for i := range maxBatch {
		part := &b.parts[i]
		part.Base = &b.messages[i][0]
		part.SetLen(maxUDPMessage)
		b.in[i].header.Name = (*byte)(unsafe.Pointer(&b.clients[i]))
		b.in[i].header.Iov = part
		b.in[i].header.SetIovlen(1)
		b.out[i].header.Iov = &b.parts[maxBatch+i]
		b.out[i].header.SetIovlen(1)
	}
	return b, nil
}

func (b *batch) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fd >= 0 {
		unix.Close(b.fd)
		b.fd = -1
	}
}

// stop makes read return, now and from now on.
func (b *batch) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fd >= 0 {
		// It errs, because the socket has no peer, but it wakes who reads.
		_ = unix.Shutdown(b.fd, unix.SHUT_RD)
	}
}

// read waits for messages and returns how many there are. What was got before
// is overwritten.
func (b *batch) read() (int, error) {
	for {
		for i := range b.in {
			b.in[i].header.Namelen = unix.SizeofSockaddrInet6
		}
		n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(b.fd), uintptr(unsafe.Pointer(&b.in)), maxBatch, unix.MSG_WAITFORONE, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR, unix.ECONNREFUSED: // an ICMP error about an earlier reply
		default:
			return 0, os.NewSyscallError("recvmmsg", errno)
		}
	}
}

// dropped returns how many messages found no room in the socket since the last
// call.
func (b *batch) dropped() int {
	const memDrops = 8 // SK_MEMINFO_DROPS of linux/sock_diag.h, the last of nine
	var info [memDrops + 1]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(b.fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 || size < uint32(unsafe.Sizeof(info)) {
		return 0
	}
	n := info[memDrops] - b.drops // the kernel's count wraps around, too
	b.drops = info[memDrops]
	return int(n)
}

// got returns a message that was read, valid until the next read.
func (b *batch) got(i int) []byte { return b.messages[i][:b.in[i].size] }

// client is who sent a message that was read.
func (b *batch) client(i int) client { return client{b.clients[i], b.in[i].header.Namelen} }

// client is the address of a client as the kernel wrote it.
type client struct {
	addr unix.RawSockaddrInet6 // or, by its family, an IPv4 one
	size uint32
}

// addrPort is invalid when the client has no address.
func (c *client) addrPort() netip.AddrPort {
	port := (*[2]byte)(unsafe.Pointer(&c.addr.Port)) // in network order
	var addr netip.Addr
	switch c.addr.Family {
	case unix.AF_INET:
		addr = netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(&c.addr)).Addr)
	case unix.AF_INET6:
		addr = netip.AddrFrom16(c.addr.Addr)
	default:
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(addr, uint16(port[0])<<8|uint16(port[1]))
}

// answer keeps a reply to a message that was read, until send. It must not be
// empty.
func (b *batch) answer(i int, reply []byte) {
	out := &b.out[b.answers]
	out.header.Name, out.header.Namelen = b.in[i].header.Name, b.in[i].header.Namelen
	part := &b.parts[maxBatch+b.answers]
	part.Base = &reply[0]
	part.SetLen(len(reply))
	b.answers++
}

// send sends the replies. A client whose reply is lost asks again. The calls
// that send do not wait, and the scheduler is not told of them: it would look
// every few microseconds whether they are over.
func (b *batch) send() {
	for sent := 0; sent < b.answers; {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(b.fd), uintptr(unsafe.Pointer(&b.out[sent])), uintptr(b.answers-sent), unix.MSG_DONTWAIT, 0, 0)
		if errno != 0 {
			n = 1
		}
		sent += int(n)
	}
	b.answers = 0
}

// sendTo sends one reply at once. It must not be empty. It is safe for
// concurrent use, as long as the batch is not closed.
func (b *batch) sendTo(c *client, reply []byte) {
	_, _, _ = unix.RawSyscall6(unix.SYS_SENDTO, uintptr(b.fd), uintptr(unsafe.Pointer(&reply[0])), uintptr(len(reply)), unix.MSG_DONTWAIT, uintptr(unsafe.Pointer(&c.addr)), uintptr(c.size))
}
