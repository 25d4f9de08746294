package guard

import (
	"errors"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is what is asked for a pipe, in bytes. The kernel may give less.
const pipeSize = 256 << 10

// pipe is where splice(2) keeps bytes between two sockets. It holds pages, not
// copies. Pipes are taken only while bytes are under way, so that an idle
// connection costs none: Go's own io.Copy holds two for each.
type pipe struct{ r, w int }

// spares are empty pipes for the next use.
var spares = make(chan pipe, 64)

func takePipe() (pipe, error) {
	select {
	case p := <-spares:
		return p, nil
	default:
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return pipe{}, os.NewSyscallError("pipe2", err)
	}
	_, _ = unix.FcntlInt(uintptr(fds[1]), unix.F_SETPIPE_SZ, pipeSize) // only a matter of speed
	return pipe{fds[0], fds[1]}, nil
}

// put gives an empty pipe back.
func (p pipe) put() {
	select {
	case spares <- p:
	default:
		p.close()
	}
}

func (p pipe) close() {
	unix.Close(p.r)
	unix.Close(p.w)
}

// splice moves bytes from src to dst inside the kernel until src ends or, with
// limit >= 0, that many are moved. It returns how many arrived in dst's buffer.
func splice(dst, src *net.TCPConn, limit int64) (int64, error) {
	in, err := src.SyscallConn()
	if err != nil {
		return 0, err
	}
	out, err := dst.SyscallConn()
	if err != nil {
		return 0, err
	}
	var moved int64
	for limit < 0 || moved < limit {
		size := int64(pipeSize)
		if limit >= 0 {
			size = min(size, limit-moved)
		}
		var p pipe
		var held int
		var failure error
		if err := in.Read(func(fd uintptr) bool {
			p, held, failure = fromSocket(int(fd), int(size))
			return failure != unix.EAGAIN
		}); err != nil {
			return moved, err
		}
		if errors.Is(failure, unix.EMFILE) || errors.Is(failure, unix.ENFILE) {
			n, err := copySome(dst, src, min(size, readSize))
			moved += n
			if n == 0 || err != nil {
				return moved, err
			}
			continue
		}
		if failure != nil {
			return moved, failure
		}
		if held == 0 {
			p.put()
			return moved, nil
		}
		for held > 0 {
			var n int
			if err := out.Write(func(fd uintptr) bool {
				n, failure = spliceOnce(p.r, int(fd), held)
				return failure != unix.EAGAIN
			}); err != nil {
				p.close()
				return moved, err
			}
			if failure != nil {
				p.close()
				return moved, os.NewSyscallError("splice", failure)
			}
			held -= n
			moved += int64(n)
		}
		p.put()
	}
	return moved, nil
}

// copySome moves what src holds, up to size bytes, to dst without a pipe. It
// returns 0 without an error at the end of src.
func copySome(dst, src *net.TCPConn, size int64) (int64, error) {
	buf := make([]byte, size)
	n, err := src.Read(buf)
	if n > 0 {
		n, err = dst.Write(buf[:n])
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return int64(n), err
}

// fromSocket moves what the socket holds into a pipe. With an error, EAGAIN
// when there is nothing yet, no pipe is held.
func fromSocket(fd, size int) (pipe, int, error) {
	p, err := takePipe()
	if err != nil {
		return p, 0, err
	}
	n, err := spliceOnce(fd, p.w, size)
	switch err {
	case nil:
		return p, n, nil
	case unix.EAGAIN:
		p.put()
		return pipe{}, 0, err
	}
	p.put()
	return pipe{}, 0, os.NewSyscallError("splice", err)
}

func spliceOnce(from, to, size int) (int, error) {
	for {
		n, err := unix.Splice(from, nil, to, nil, size, unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
		if err != unix.EINTR {
			return int(n), err
		}
	}
}
