package kernel_test

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// Since Linux 5.7 no privilege is needed to bind a socket to an interface. A
// packet for a loopback address then has a way out, and "loopback is open"
// must not mean it.
func TestSocketBoundToAnInterfaceDoesNotCarryLoopbackOut(t *testing.T) {
	b := closedBench(t)
	c := b.Capture(t)
	for _, to := range []string{
		"127.0.0.1:9999", "127.66.66.66:9", "127.0.0.1:5300", "[::1]:9996", // loopback itself
		"9.9.9.9:53", "127.0.0.1:53", "[2001:4860:4860::8888]:53", "[::1]:53", // what the nat table leads there
	} {
		for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_STREAM} {
			b.sendBound(netip.MustParseAddrPort(to), kind)
		}
	}
	c.Nothing("packets for loopback, from a socket bound to eth0", nil)

	// The same over the loopback interface is nobody's business.
	got := b.resolverAt(t, "127.0.0.1:5399")
	if err := b.send(agentUID, 0, "127.0.0.1:5399", "hello"); err != nil {
		t.Fatal(err)
	}
	if message := <-got; message != "hello" {
		t.Errorf("over loopback arrived %q", message)
	}
}

// sendBound sends as the agent from a socket that is bound to eth0; whatever
// the kernel answers, what counts is what arrives.
func (b *bench) sendBound(to netip.AddrPort, kind int) {
	b.t.Helper()
	var err error
	b.Sandbox.As(agentUID, func() {
		domain, dst := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()})
		if to.Addr().Is4() {
			domain, dst = unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
		}
		var fd int
		if fd, err = unix.Socket(domain, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
			return
		}
		defer unix.Close(fd)
		if err = unix.BindToDevice(fd, "eth0"); err != nil {
			return
		}
		if kind == unix.SOCK_STREAM {
			_ = unix.Connect(fd, dst)
			return
		}
		_ = unix.Sendto(fd, []byte("TOPSECRET"), 0, dst)
	})
	if err != nil {
		b.t.Fatalf("a socket bound to eth0: %v", err)
	}
}
