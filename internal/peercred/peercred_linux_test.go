package peercred

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestUIDOfBothEnds(t *testing.T) {
	name := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "socket"), Net: "unix"}
	l, err := net.ListenUnix("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	own, err := net.DialUnix("unix", nil, name)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	accepted, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	for what, conn := range map[string]*net.UnixConn{"the listener": own, "the client": accepted} {
		if uid, err := UID(conn); err != nil || uid != os.Getuid() {
			t.Errorf("%s is user %d (%v), want %d", what, uid, err, os.Getuid())
		}
	}
	accepted.Close()
	if _, err := UID(accepted); err == nil {
		t.Error("a closed connection has a user")
	}
}
