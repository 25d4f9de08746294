package resolver

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// enlargeBuffer gives a UDP socket room for the questions of a burst, as many
// bytes as wanted. Without CAP_NET_ADMIN it gets net.core.rmem_max at most.
func enlargeBuffer(conn syscall.RawConn, wanted int) {
	_ = conn.Control(func(fd uintptr) {
		if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, wanted) != nil {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, wanted)
		}
	})
}

// droppedDatagrams is how many datagrams have found no room in the socket since
// it was made. The number wraps around.
//
// SO_RXQ_OVFL would tell of a drop with the next datagram that finds room, which
// may never come after a flood. SO_MEMINFO tells at once: nine numbers of 32
// bits (linux/sock_diag.h), of which the last one is this. x/sys reads options
// of this size as a TCPInfo, whose Lost lies at the same place.
func droppedDatagrams(conn syscall.RawConn) (dropped uint32) {
	_ = conn.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.SOL_SOCKET, unix.SO_MEMINFO); err == nil {
			dropped = info.Lost
		}
	})
	return dropped
}
