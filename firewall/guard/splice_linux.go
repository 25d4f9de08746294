package guard

import (
	"errors"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// splice moves bytes from src to dst inside the kernel until src ends or, with
// limit >= 0, that many are moved. It returns how many arrived in dst's buffer.
//
// io.Copy holds a pipe until its end. This one asks it for what has come already,
// so that an idle connection costs no pipe.
func splice(dst, src *net.TCPConn, limit int64) (moved int64, err error) {
	from := stream{TCPConn: src}
	for limit < 0 || moved < limit {
		size, err := from.arrived()
		if size == 0 || err != nil {
			return moved, err
		}
		if limit >= 0 {
			size = min(size, limit-moved)
		}
		n, err := io.CopyN(dst, src, size)
		moved += n
		if err != nil {
			return moved, err
		}
	}
	return moved, nil
}

// errUrgent ends a connection with a byte out of line (RFC 6093), which no web client sends.
var errUrgent = errors.New("the connection has urgent data")

// arrived waits for bytes and returns how many can be read at once, 0 at the end.
func (s *stream) arrived() (size int64, err error) {
	some, err := s.await()
	if !some || err != nil {
		return 0, err
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var failure error
	err = raw.Control(func(fd uintptr) { n, failure = unix.IoctlGetInt(int(fd), unix.SIOCINQ) })
	if err = errors.Join(err, failure); err == nil && n == 0 {
		err = errUrgent
	}
	return int64(n), err
}
