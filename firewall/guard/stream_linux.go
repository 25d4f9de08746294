package guard

import (
	"errors"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// readSize is how much is read at a time, in bytes.
const readSize = 4 << 10

// stream is a connection with what was read of it and not passed on yet.
type stream struct {
	*net.TCPConn
	buf []byte
}

// fill waits for more bytes and appends them to buf. A goroutine that waits with nothing in
// buf holds no memory for it: such waits last longest.
func (s *stream) fill() error {
	if len(s.buf) == 0 {
		if _, err := s.await(); err != nil {
			return err
		}
	}
	if cap(s.buf)-len(s.buf) < readSize/2 {
		s.buf = append(make([]byte, 0, len(s.buf)*2+readSize), s.buf...)
	}
	n, err := s.Read(s.buf[len(s.buf):cap(s.buf)])
	s.buf = s.buf[:len(s.buf)+n]
	if n > 0 {
		return nil
	}
	return err
}

// await returns when there is something to read, or with some = false when the end has
// come. An error is told only once by the kernel, so it is passed on here.
func (s *stream) await() (some bool, err error) {
	raw, err := s.SyscallConn()
	if err != nil {
		return false, err
	}
	var peeked [1]byte
	var n int
	var failure error
	err = raw.Read(func(fd uintptr) bool {
		for {
			n, _, failure = unix.Recvfrom(int(fd), peeked[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
			if failure != unix.EINTR {
				return failure != unix.EAGAIN
			}
		}
	})
	return n > 0, errors.Join(err, os.NewSyscallError("recvfrom", failure))
}

// awaitReset returns nil when the other side has reset the connection, whatever
// there is still to read, and an error when the time for reading is over.
func (s *stream) awaitReset() error {
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	const closed = 7 // TCP_CLOSE
	return raw.Read(func(fd uintptr) bool {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		return err != nil || info.State == closed
	})
}

// pass writes the first n bytes of buf to dst and forgets them. An empty
// buffer is given back, because most connections are idle most of the time.
func (s *stream) pass(dst io.Writer, n int) error {
	if n == 0 {
		return nil
	}
	_, err := dst.Write(s.buf[:n])
	s.buf = s.buf[n:]
	if len(s.buf) == 0 {
		s.buf = nil
	}
	return err
}

// passAll moves n bytes, or with n < 0 everything until the end, to dst: what
// is in buf first, the rest in the kernel. It errs with io.ErrUnexpectedEOF
// when the end comes before n bytes.
func (s *stream) passAll(dst *net.TCPConn, n int64) error {
	first := len(s.buf)
	if n >= 0 {
		first = int(min(int64(first), n))
	}
	if err := s.pass(dst, first); err != nil {
		return err
	}
	if n < 0 {
		_, err := splice(dst, s.TCPConn, -1)
		return err
	}
	moved, err := splice(dst, s.TCPConn, n-int64(first))
	if err == nil && moved < n-int64(first) {
		err = io.ErrUnexpectedEOF
	}
	return err
}
