package guard

import (
	"io"
	"net"
)

// readSize is how much is read at a time, in bytes.
const readSize = 4 << 10

// stream is a connection with what was read of it and not passed on yet.
type stream struct {
	*net.TCPConn
	buf []byte
}

// fill waits for more bytes and appends them to buf.
func (s *stream) fill() error {
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
