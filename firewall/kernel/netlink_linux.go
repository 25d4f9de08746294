package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// This file is the one way in which the package speaks netlink (netlink(7))
// where package netlink has no call, one element at a time, or six objects an
// element.

// conn is a netlink socket of the namespace that it was opened in. It is safe
// for concurrent use; ask and read must not be mixed.
type conn struct {
	mu    sync.Mutex
	file  *os.File
	limit time.Duration // how long ask waits for an answer
	seq   uint32
	out   []byte
	in    []byte
}

const (
	// answerLimit bounds the wait for the kernel's answer. In truth it is there
	// before the call that sends the message returns.
	answerLimit = 5 * time.Second

	// datagramBytes is the most that the kernel writes at a time
	// (net/netlink/af_netlink.c).
	datagramBytes = 1 << 15

	nfgenSize = 4      // struct nfgenmsg, which stands before netfilter's attributes
	typeMask  = 0x3fff // NLA_TYPE_MASK of linux/netlink.h
)

// dial opens a socket of a protocol such as unix.NETLINK_NETFILTER.
func dial(protocol int) (*conn, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("bind", err)
	}
	return &conn{file: os.NewFile(uintptr(fd), "netlink"), limit: answerLimit, in: make([]byte, datagramBytes)}, nil
}

// close closes the socket; of no socket, nothing.
func (c *conn) close() {
	if c != nil {
		c.file.Close()
	}
}

// send sends one message and does not wait for an answer.
func (c *conn) send(kind, flags uint16, fill func(*message)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sendLocked(kind, flags, fill)
}

func (c *conn) sendLocked(kind, flags uint16, fill func(*message)) error {
	c.seq++
	m := message{c.out[:0]}
	m.header(kind, unix.NLM_F_REQUEST|flags, c.seq)
	fill(&m)
	c.out = m.b
	binary.NativeEndian.PutUint32(m.b, uint32(len(m.b)))
	_, err := c.file.Write(m.b)
	return err
}

// ask sends one message and calls each for every answer that holds something,
// until the kernel has confirmed the message, ended its list, or, where the
// flags ask for neither, answered once. It returns the kernel's error.
func (c *conn) ask(kind, flags uint16, fill func(*message), each func(body []byte)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.sendLocked(kind, flags, fill); err != nil {
		return err
	}
	if err := c.file.SetReadDeadline(time.Now().Add(c.limit)); err != nil {
		return err
	}
	for {
		n, err := c.file.Read(c.in)
		if err != nil {
			return err
		}
		for m := range messages(c.in[:n]) {
			switch {
			case m.seq != c.seq: // of a question that was given up
				continue
			case m.kind == unix.NLMSG_DONE:
				return nil
			case m.kind == unix.NLMSG_ERROR:
				return failure(m.body)
			case each != nil:
				each(m.body)
			}
			if flags&(unix.NLM_F_ACK|unix.NLM_F_DUMP) == 0 {
				return nil
			}
		}
	}
}

// askNumber asks netfilter for a number of 32 bits, which the answer has as an attribute.
func (c *conn) askNumber(kind, attribute uint16) (number uint32, err error) {
	found := false
	err = c.ask(kind, 0, func(m *message) { m.netfilter(unix.AF_UNSPEC, 0) }, func(body []byte) {
		for kind, value := range netfilterAttributes(body) {
			if kind == attribute && len(value) == 4 {
				number, found = binary.BigEndian.Uint32(value), true
			}
		}
	})
	if err == nil && !found {
		err = errors.New("the kernel's answer holds no number")
	}
	return number, err
}

// receive reads one datagram of what the kernel sends unasked. It errs with
// unix.ENOBUFS when the kernel had no room for some, and with os.ErrClosed.
func (c *conn) receive() ([]byte, error) {
	n, err := c.file.Read(c.in)
	return c.in[:max(n, 0)], err
}

// answer is one message of the kernel's.
type answer struct {
	kind uint16
	seq  uint32
	body []byte
}

// messages yields the messages of a datagram, as far as they are whole.
func messages(b []byte) iter.Seq[answer] {
	return func(yield func(answer) bool) {
		for len(b) >= unix.SizeofNlMsghdr {
			size := int(binary.NativeEndian.Uint32(b))
			if size < unix.SizeofNlMsghdr || size > len(b) {
				return
			}
			m := answer{binary.NativeEndian.Uint16(b[4:]), binary.NativeEndian.Uint32(b[8:]), b[unix.SizeofNlMsghdr:size]}
			if !yield(m) {
				return
			}
			b = b[min(aligned(size), len(b)):]
		}
	}
}

// attributes yields the attributes in b, as far as they are whole, without the
// flags of their kinds.
func attributes(b []byte) iter.Seq2[uint16, []byte] {
	return func(yield func(uint16, []byte) bool) {
		for len(b) >= unix.SizeofNlAttr {
			size := int(binary.NativeEndian.Uint16(b))
			if size < unix.SizeofNlAttr || size > len(b) {
				return
			}
			if !yield(binary.NativeEndian.Uint16(b[2:])&typeMask, b[unix.SizeofNlAttr:size]) {
				return
			}
			b = b[min(aligned(size), len(b)):]
		}
	}
}

// attribute returns the value of the first attribute of a kind, nil when there is
// none.
func attribute(all iter.Seq2[uint16, []byte], kind uint16) []byte {
	for k, value := range all {
		if k == kind {
			return value
		}
	}
	return nil
}

// netfilterAttributes yields the attributes of a message of netfilter's.
func netfilterAttributes(body []byte) iter.Seq2[uint16, []byte] {
	return attributes(body[min(nfgenSize, len(body)):])
}

// failure reads the body of the kernel's NLMSG_ERROR; nil means that it did all.
func failure(body []byte) error {
	if len(body) < 4 {
		return errors.New("the kernel's answer is too short")
	}
	switch code := -int32(binary.NativeEndian.Uint32(body)); {
	case code == 0:
		return nil
	case code >= nl.IPSET_ERR_PRIVATE:
		return nl.IPSetError(code)
	default:
		return unix.Errno(code)
	}
}

// message is a message that is being built.
type message struct{ b []byte }

// header begins the message; its length is written when it is sent.
func (m *message) header(kind, flags uint16, seq uint32) {
	m.raw(0, 0, 0, 0)
	m.b = binary.NativeEndian.AppendUint16(m.b, kind)
	m.b = binary.NativeEndian.AppendUint16(m.b, flags)
	m.b = binary.NativeEndian.AppendUint32(m.b, seq)
	m.raw(0, 0, 0, 0) // from us, whoever that is
}

// netfilter appends struct nfgenmsg: a family, or AF_UNSPEC, and the group or
// queue that the message is about.
func (m *message) netfilter(family byte, resource uint16) {
	m.raw(family, nl.NFNETLINK_V0, byte(resource>>8), byte(resource))
}

func (m *message) raw(value ...byte) { m.b = append(m.b, value...) }

// attribute appends one attribute, whose length counts its header but not the
// bytes that fill it up to four.
func (m *message) attribute(kind uint16, value ...byte) {
	m.b = binary.NativeEndian.AppendUint16(m.b, uint16(unix.SizeofNlAttr+len(value)))
	m.b = binary.NativeEndian.AppendUint16(m.b, kind)
	m.raw(value...)
	m.raw(make([]byte, aligned(len(m.b))-len(m.b))...)
}

// nest appends an attribute that holds those that fill appends.
func (m *message) nest(kind uint16, fill func()) {
	at := len(m.b)
	m.attribute(kind | unix.NLA_F_NESTED)
	fill()
	binary.NativeEndian.PutUint16(m.b[at:], uint16(len(m.b)-at))
}

// aligned is how much a length takes up in a message.
func aligned(size int) int { return (size + 3) &^ 3 }

func be32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

// subscribe opens a socket that receives the packets that a message asks for; it errs
// unless the kernel agrees.
func subscribe(kind uint16, fill func(*message)) (*conn, error) {
	c, err := dial(unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, err
	}
	c.in = make([]byte, 1<<16) // the kernel's batches of packets stay below
	raw, err := c.file.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, socketBytes) != nil {
				// In a user namespace of its own the container gets what everybody gets.
				_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, socketBytes)
			}
		})
	}
	if err == nil {
		err = c.ask(kind, unix.NLM_F_ACK, fill, nil)
	}
	if err == nil {
		err = c.file.SetReadDeadline(time.Time{}) // packets come when they come
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("subscribing: %w", err)
	}
	return c, nil
}
