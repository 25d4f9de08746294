package kernel

import (
	"encoding/binary"
	"errors"
	"iter"
	"os"

	"golang.org/x/sys/unix"
)

func be32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

// openNetfilter opens a socket to receive packets by and sends the message that
// says which; it errs unless the kernel agrees.
func openNetfilter(message []byte) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	f := os.NewFile(uintptr(fd), "nfnetlink")
	if err := configure(fd, message); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func configure(fd int, message []byte) error {
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return os.NewSyscallError("bind", err)
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, socketBytes) != nil {
		// In a user namespace of its own the container gets what everybody gets.
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, socketBytes)
	}
	if err := unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return os.NewSyscallError("send", err)
	}
	// The kernel has answered when send returns, and packets come only later.
	reply := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, reply, unix.MSG_DONTWAIT)
	if err != nil {
		return os.NewSyscallError("receive", err)
	}
	if n < 20 || binary.NativeEndian.Uint16(reply[4:]) != unix.NLMSG_ERROR {
		return errors.New("the kernel did not confirm it")
	}
	if code := int32(binary.NativeEndian.Uint32(reply[16:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

type netlinkAttr struct {
	kind uint16
	data []byte
}

// netfilterMessage builds a message about a group or a queue (netlink(7), and
// the nfnetlink header: family, version, resource).
func netfilterMessage(kind, flags, resource uint16, attrs []netlinkAttr) []byte {
	m := make([]byte, 16, 128)
	binary.NativeEndian.PutUint16(m[4:], kind)
	binary.NativeEndian.PutUint16(m[6:], unix.NLM_F_REQUEST|flags)
	m = append(m, unix.AF_UNSPEC, 0, byte(resource>>8), byte(resource))
	for _, a := range attrs {
		m = binary.NativeEndian.AppendUint16(m, uint16(4+len(a.data)))
		m = binary.NativeEndian.AppendUint16(m, a.kind)
		m = append(m, a.data...)
		for len(m)%4 != 0 {
			m = append(m, 0)
		}
	}
	binary.NativeEndian.PutUint32(m, uint32(len(m)))
	return m
}

// netlinkAttrs yields the attributes of a message (netlink(7)), as far as they
// are whole.
func netlinkAttrs(b []byte) iter.Seq2[uint16, []byte] {
	return func(yield func(uint16, []byte) bool) {
		for len(b) >= 4 {
			size := int(binary.NativeEndian.Uint16(b))
			if size < 4 || size > len(b) {
				return
			}
			kind := binary.NativeEndian.Uint16(b[2:]) & 0x3fff // without the flags
			if !yield(kind, b[4:size]) {
				return
			}
			b = b[min(len(b), (size+3)&^3):]
		}
	}
}
