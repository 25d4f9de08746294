package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// diagSocket ends TCP sockets of the namespace (SOCK_DESTROY), which package
// netlink does for IPv4 alone. It is safe for concurrent use.
type diagSocket struct {
	mu   sync.Mutex
	file *os.File
	seq  uint32
}

func openDiagSocket() (*diagSocket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_INET_DIAG)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	}
	if err != nil {
		return nil, fmt.Errorf("opening a netlink socket for sockets: %w", err)
	}
	return &diagSocket{file: os.NewFile(uintptr(fd), "netlink")}, nil
}

// destroy ends the socket between two addresses, so that its program hears of
// it at once (ECONNABORTED). No such socket is no error, and neither is a
// kernel that cannot: the rules then answer the next packet with a reset.
func (s *diagSocket) destroy(local, remote netip.AddrPort) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	family := byte(unix.AF_INET)
	if local.Addr().Is6() {
		family = unix.AF_INET6
	}
	const size = 16 + 56 // struct nlmsghdr, struct inet_diag_req_v2
	b := binary.NativeEndian.AppendUint32(nil, size)
	b = binary.NativeEndian.AppendUint16(b, nl.SOCK_DESTROY)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	b = binary.NativeEndian.AppendUint32(b, s.seq)
	b = append(b, 0, 0, 0, 0)
	b = append(b, family, unix.IPPROTO_TCP, 0, 0)
	b = binary.NativeEndian.AppendUint32(b, ^uint32(0)) // in any state
	b = binary.BigEndian.AppendUint16(b, local.Port())
	b = binary.BigEndian.AppendUint16(b, remote.Port())
	for _, a := range []netip.Addr{local.Addr(), remote.Addr()} {
		raw := a.AsSlice()
		b = append(append(b, raw...), make([]byte, 16-len(raw))...)
	}
	b = binary.NativeEndian.AppendUint32(b, 0)          // of any interface
	b = binary.NativeEndian.AppendUint64(b, ^uint64(0)) // without a cookie
	if _, err := s.file.Write(b); err != nil {
		return err
	}
	if err := s.file.SetReadDeadline(time.Now().Add(answerLimit)); err != nil {
		return err
	}
	in := make([]byte, 512)
	for {
		n, err := s.file.Read(in)
		if err != nil {
			return err
		}
		if n < 20 || binary.NativeEndian.Uint32(in[8:]) != s.seq {
			continue
		}
		err = nil
		if failed := -int32(binary.NativeEndian.Uint32(in[16:])); failed != 0 {
			err = unix.Errno(failed)
		}
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP) {
			err = nil
		}
		return err
	}
}
