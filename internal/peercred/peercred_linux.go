package peercred

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// UID returns the user at the other end of conn: of a connection that was
// accepted the one who connected, of any other the one who listened, each as he
// was at that moment. It is a number of the caller's user namespace.
func UID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	var failure error
	err = raw.Control(func(fd uintptr) { peer, failure = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err != nil {
		return 0, err
	}
	if failure != nil {
		return 0, os.NewSyscallError("getsockopt SO_PEERCRED", failure)
	}
	return int(peer.Uid), nil
}
