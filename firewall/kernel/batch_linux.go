package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
)

// setSocket adds elements to ipsets, many in one message, which package netlink
// does one by one. It is safe for concurrent use.
type setSocket struct {
	mu  sync.Mutex
	fd  int // a netlink socket of the namespace that it was opened in
	seq uint32
	out []byte
	in  [4096]byte
}

// element is what is added to a set.
type element struct {
	firewall.SetEntry
	timeout uint32 // seconds; 0 = the set knows none
}

// maxBatch is how many elements go into one message: an attribute's length has
// 16 bits, and an IPv6 element with all it can have takes 76 bytes.
const maxBatch = 500

// answerLimit bounds the wait for the kernel's answer. In truth it is there
// before the call that sends the message returns, so the calls block, which
// costs less than asking to be told.
const answerLimit = 5 * time.Second

func openSetSocket() (*setSocket, error) {
	fd, err := openIpset()
	if err != nil {
		return nil, err
	}
	return &setSocket{fd: fd}, nil
}

// openIpset opens a netlink socket whose calls block, but not for ever.
func openIpset() (int, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return 0, fmt.Errorf("opening a netlink socket for ipset: %w", err)
	}
	err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	if err == nil {
		limit := unix.NsecToTimeval(answerLimit.Nanoseconds())
		err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit)
	}
	if err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("opening a netlink socket for ipset: %w", err)
	}
	return fd, nil
}

func (s *setSocket) close() { unix.Close(s.fd) }

// add puts elements into a set; those that are there get their new time.
func (s *setSocket) add(set string, elements []element) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(elements) > 0 {
		n := min(len(elements), maxBatch)
		if err := s.addSome(set, elements[:n]); err != nil {
			return err
		}
		elements = elements[n:]
	}
	return nil
}

func (s *setSocket) addSome(set string, elements []element) error {
	s.seq++
	b := message(s.out[:0], nl.IPSET_CMD_ADD, unix.NLM_F_REQUEST|unix.NLM_F_ACK, s.seq) // without EXCL: what is there is replaced
	b = attribute(b, nl.IPSET_ATTR_SETNAME, append([]byte(set), 0)...)
	b = attribute(b, nl.IPSET_ATTR_LINENO|unix.NLA_F_NET_BYTEORDER, 0, 0, 0, 0)
	b, list := begin(b, nl.IPSET_ATTR_ADT)
	for _, e := range elements {
		var data, ip int
		b, data = begin(b, nl.IPSET_ATTR_DATA)
		b, ip = begin(b, nl.IPSET_ATTR_IP)
		if addr := e.Prefix.Addr(); addr.Is4() {
			a := addr.As4()
			b = attribute(b, nl.IPSET_ATTR_IPADDR_IPV4|unix.NLA_F_NET_BYTEORDER, a[:]...)
		} else {
			a := addr.As16()
			b = attribute(b, nl.IPSET_ATTR_IPADDR_IPV6|unix.NLA_F_NET_BYTEORDER, a[:]...)
		}
		end(b, ip)
		if !e.Prefix.IsSingleIP() {
			b = attribute(b, nl.IPSET_ATTR_CIDR, byte(e.Prefix.Bits()))
		}
		b = attribute(b, nl.IPSET_ATTR_PORT|unix.NLA_F_NET_BYTEORDER, byte(e.Port.Number>>8), byte(e.Port.Number))
		b = attribute(b, nl.IPSET_ATTR_PROTO, protocol(e.Port.Proto))
		if e.timeout > 0 {
			t := binary.BigEndian.AppendUint32(nil, e.timeout)
			b = attribute(b, nl.IPSET_ATTR_TIMEOUT|unix.NLA_F_NET_BYTEORDER, t...)
		}
		end(b, data)
	}
	end(b, list)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	s.out = b
	// Neither call waits, and while the scheduler knows of a call it looks every
	// few microseconds whether the call is over.
	if _, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(s.fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0, 0, 0); errno != 0 {
		return errno
	}
	return s.answer()
}

// answer reads the kernel's answer to the last message.
func (s *setSocket) answer() error {
	for {
		n, err := s.read()
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if n < unix.SizeofNlMsghdr {
			return errors.New("the kernel's answer is too short")
		}
		if binary.NativeEndian.Uint32(s.in[8:]) != s.seq {
			continue // to a message whose answer was given up on
		}
		if binary.NativeEndian.Uint16(s.in[4:]) != unix.NLMSG_ERROR {
			return errors.New("the kernel's answer is none")
		}
		return failure(s.in[:n])
	}
}

// read waits for the kernel's answer if it is not there already.
func (s *setSocket) read() (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(s.fd), uintptr(unsafe.Pointer(&s.in)), uintptr(len(s.in)), unix.MSG_DONTWAIT, 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EAGAIN:
		return unix.Read(s.fd, s.in[:])
	}
	return 0, errno
}

// failure reads the kernel's answer to a message; nil means that it did all.
func failure(answer []byte) error {
	const code = unix.SizeofNlMsghdr
	if len(answer) < code+4 {
		return errors.New("the kernel's answer is too short")
	}
	switch failed := -int32(binary.NativeEndian.Uint32(answer[code:])); {
	case failed == 0:
		return nil
	case failed >= nl.IPSET_ERR_PRIVATE:
		return nl.IPSetError(failed)
	default:
		return unix.Errno(failed)
	}
}

// nfgenSize is the size of struct nfgenmsg, which stands before the attributes.
const nfgenSize = 4

// message begins a message to ipset; its length is still to be written.
func message(b []byte, command, flags uint16, seq uint32) []byte {
	b = header(b, unix.NFNL_SUBSYS_IPSET, command, flags, unix.AF_NETLINK, seq)
	return attribute(b, nl.IPSET_ATTR_PROTOCOL, nl.IPSET_PROTOCOL)
}

// header begins a message to a part of netfilter.
func header(b []byte, subsystem, command, flags uint16, family byte, seq uint32) []byte {
	b = append(b, 0, 0, 0, 0) // the length
	b = binary.NativeEndian.AppendUint16(b, subsystem<<8|command)
	b = binary.NativeEndian.AppendUint16(b, flags)
	b = binary.NativeEndian.AppendUint32(b, seq)
	b = append(b, 0, 0, 0, 0)                       // from us, whoever that is
	return append(b, family, nl.NFNETLINK_V0, 0, 0) // nfgenmsg
}

// attribute appends one attribute, whose length counts its header but not what
// fills it up to four bytes.
func attribute(b []byte, kind uint16, value ...byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(4+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// begin begins an attribute that holds others; end writes its length.
func begin(b []byte, kind uint16) (bytes []byte, at int) {
	return attribute(b, kind|unix.NLA_F_NESTED), len(b)
}

func end(b []byte, at int) { binary.NativeEndian.PutUint16(b[at:], uint16(len(b)-at)) }

func protocol(p firewall.Proto) byte {
	if p == firewall.UDP {
		return unix.IPPROTO_UDP
	}
	return unix.IPPROTO_TCP
}
