package kernel_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/test/netnstest"
)

func TestUpstreamOnlyForTheMarkedDaemon(t *testing.T) {
	b := closedBench(t)
	b.resolverAt(t, "127.0.0.1:5300")
	c := b.Capture(t)

	_ = b.send(agentUID, 0, upstream+":53", "agent")
	_ = b.send(0, 0, upstream+":53", "root without the mark")
	_ = b.send(0, mark+1, upstream+":53", "root with another mark")
	b.sendMarkedAs(agentUID, upstream)
	c.Nothing("the upstream for others", nil)

	if err := b.send(0, mark, upstream+":53", "daemon"); err != nil {
		t.Fatal(err)
	}
	arrived := c.Arrived()
	if len(arrived) != 1 || arrived[0].Dst.String() != upstream || arrived[0].DstPort != 53 {
		t.Errorf("the daemon's query: arrived %v", arrived)
	}

	_ = b.send(0, mark, upstream+":443", "daemon elsewhere")
	_ = b.send(0, mark, other+":53", "daemon to another server")
	c.Nothing("the daemon beyond its upstream", nil)
}

// sendMarkedAs sends from a socket that uid owns and that root has marked
// afterwards: the mark alone must not be enough.
func (b *bench) sendMarkedAs(uid int, to string) {
	b.t.Helper()
	var fd int
	var err error
	b.Sandbox.As(uid, func() { fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0) })
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, mark)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	defer unix.Close(fd)
	_ = unix.Sendto(fd, []byte("leak"), 0, &unix.SockaddrInet4{Port: 53, Addr: [4]byte{203, 0, 113, 53}})
}

// An engine's resolver answers on a random port of 127.0.0.11 and asks the
// outside for whoever reaches it.
func TestHiddenPortOfTheEnginesResolver(t *testing.T) {
	b := newBench(t, "")
	hidden := b.resolverAt(t, "127.0.0.11:38099")
	// The rules that an engine puts into a container on a network of its own.
	for _, rule := range [][]string{
		{"-N", "DOCKER_OUTPUT"},
		{"-A", "OUTPUT", "-d", "127.0.0.11/32", "-j", "DOCKER_OUTPUT"},
		{"-A", "DOCKER_OUTPUT", "-d", "127.0.0.11/32", "-p", "udp", "-m", "udp", "--dport", "53", "-j", "DNAT",
			"--to-destination", "127.0.0.11:38099"},
	} {
		b.run("iptables", append([]string{"-t", "nat"}, rule...)...)
	}
	engine := b.run("iptables", "-t", "nat", "-S", "DOCKER_OUTPUT")

	b.apply(b.planBesideAnEngine(firewall.Network{Allow: []string{allowed + ":443"}}))
	if after := b.run("iptables", "-t", "nat", "-S", "DOCKER_OUTPUT"); after != engine {
		t.Errorf("the engine's rules changed from\n%sto\n%s", engine, after)
	}

	ours := b.resolverAt(t, "127.0.0.1:5300")
	b.query(t, "127.0.0.11:53", ours)
	if err := b.send(agentUID, 0, "127.0.0.11:38099", "agent"); err == nil {
		t.Error("the agent reaches the hidden port over UDP")
	}
	if err := b.send(0, 0, "127.0.0.11:38099", "root"); err == nil {
		t.Error("root without the mark reaches the hidden port over UDP")
	}
	if conn, err := b.dial("tcp", "127.0.0.11:38099"); err == nil {
		conn.Close()
		t.Error("the agent reaches the hidden port over TCP")
	}
	if err := b.send(0, mark, "127.0.0.11:53", "daemon"); err != nil {
		t.Fatal(err)
	}
	select {
	case message := <-hidden:
		if message != "daemon" {
			t.Errorf("the hidden port got %q", message)
		}
	case <-time.After(dialLimit):
		t.Error("the daemon does not reach the engine's resolver")
	}

	b.apply(b.planBesideAnEngine(firewall.Network{Mode: firewall.ModeNone}))
	if err := b.send(agentUID, 0, "127.0.0.11:53", "agent"); err == nil {
		t.Error("in mode none the agent reaches the engine's resolver")
	}
}

// Anybody may bind the address of an engine's resolver, and Docker lets programs
// without a right bind port 53. A packet from there would make the resolver's
// next question its reply, which goes to whoever has bound the address; what
// that one answers would open any address under an allowed name.
func TestAttackSpeakingForTheEnginesResolver(t *testing.T) {
	b := newBench(t, "")
	b.Sandbox.Do(func() {
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0o644); err != nil {
			t.Fatal(err)
		}
	})
	lead := func(verb, hidden string) {
		b.run("iptables", "-t", "nat", verb, "OUTPUT", "-d", "127.0.0.11/32", "-p", "udp", "-m", "udp", "--dport", "53", "-j", "DNAT",
			"--to-destination", hidden)
	}
	lead("-A", "127.0.0.11:38099")
	b.apply(b.planBesideAnEngine(firewall.Network{Allow: []string{allowed + ":443"}}))
	engine := b.resolverAt(t, "127.0.0.11:38099")
	bound := func(uid int, address string) *net.UDPConn {
		var conn net.PacketConn
		var err error
		b.Sandbox.As(uid, func() { conn, err = net.ListenPacket("udp", address) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn.(*net.UDPConn)
	}
	asDaemon := func(address string) *net.UDPConn {
		conn := bound(0, address)
		raw, err := conn.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var set error
		err = raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MARK, mark) })
		if err = errors.Join(err, set); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	say := func(from *net.UDPConn, to, word string) error {
		_, err := from.WriteTo([]byte(word), net.UDPAddrFromAddrPort(netip.MustParseAddrPort(to)))
		return err
	}
	hears := func(conn *net.UDPConn, limit time.Duration) string {
		if err := conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100)
		n, _, _ := conn.ReadFrom(buf)
		return string(buf[:n])
	}
	daemon := asDaemon("127.0.0.1:2000")
	agent := bound(agentUID, "127.0.0.11:53")
	if err := say(agent, "127.0.0.1:2000", "forged"); err == nil {
		t.Error("the agent speaks as the engine's resolver")
	}
	if err := say(daemon, "127.0.0.11:53", "question"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-engine:
	case <-time.After(dialLimit):
		t.Errorf("the engine's resolver is not asked; the agent hears %q", hears(agent, time.Second))
	}
	if got := hears(daemon, 100*time.Millisecond); got != "" {
		t.Errorf("the daemon hears %q", got)
	}

	// The engine's resolver is gone, and the agent has taken its hidden port.
	lead("-D", "127.0.0.11:38099")
	lead("-A", "127.0.0.11:38100")
	thief := bound(agentUID, "127.0.0.11:38100")
	other := bound(0, "127.0.0.11:38101")
	if err := say(other, "127.0.0.1:2001", "forged"); err == nil {
		t.Error("root without the mark speaks as the engine's resolver")
	}
	daemon = asDaemon("127.0.0.1:2001")
	if err := say(daemon, "127.0.0.11:53", "question"); err != nil {
		t.Fatal(err)
	}
	if got := hears(thief, dialLimit); got != "question" {
		t.Fatalf("the hidden port hears %q", got)
	}
	if err := say(thief, "127.0.0.1:2001", "forged"); err == nil {
		t.Error("the agent answers for the engine's resolver")
	}
	if got := hears(daemon, 100*time.Millisecond); got != "" {
		t.Errorf("the daemon hears %q", got)
	}
}

// A question of the engine's resolver to the outside begins in the container's namespace,
// as root and without a mark. It must get out, or no name resolves on a network
// of the engine's; the agent must not get out beside it.
func TestTheEnginesOwnQueriesPassAndTheAgentsDoNot(t *testing.T) {
	b := newBench(t, "")
	b.apply(b.planBesideAnEngine(firewall.Network{Allow: []string{allowed + ":443"}}))
	ours := b.resolverAt(t, "127.0.0.1:5300")
	c := b.Capture(t)

	_ = b.send(agentUID, 0, upstream+":53", "agent")
	if got := <-ours; got != "agent" {
		t.Errorf("our resolver got %q", got)
	}
	_ = b.send(agentUID, mark, "203.0.113.53:853", "agent")
	_ = b.send(0, 0, upstream+":853", "root over TLS's port")
	_ = b.send(0, 0, other+":443", "root elsewhere")
	if conn, err := b.dial("tcp", upstream+":53"); err == nil {
		conn.Close() // our resolver's own port, or nobody's: what counts is what arrives
	}
	c.Nothing("DNS of the agent beside an engine's resolver", nil)

	if err := b.send(0, 0, upstream+":53", "engine"); err != nil {
		t.Fatal(err)
	}
	if arrived := c.Arrived(); len(arrived) != 1 || arrived[0].DstPort != 53 {
		t.Errorf("the engine's query: arrived %v", arrived)
	}
	// Root's queries to loopback still come to us: self-verification relies on it.
	if err := b.send(0, 0, "127.0.0.1:53", "root on loopback"); err != nil {
		t.Fatal(err)
	}
	if got := <-ours; got != "root on loopback" {
		t.Errorf("our resolver got %q", got)
	}
}

func TestConnectionFromOutside(t *testing.T) {
	b := closedBench(t)
	listen(t, b.Sandbox, "192.0.2.2:3000")
	dial := func(limit time.Duration) error {
		var conn net.Conn
		var err error
		b.Internet.Do(func() { conn, err = net.DialTimeout("tcp", "192.0.2.2:3000", limit) })
		if err == nil {
			conn.Close()
		}
		return err
	}
	c := b.Capture(t)
	if dial(300*time.Millisecond) == nil {
		t.Error("connected from outside")
	}
	b.run("iptables", "-A", "INPUT", "-p", "tcp", "-j", "ACCEPT") // as somebody else may have
	if dial(300*time.Millisecond) == nil {
		t.Error("connected from outside, by a rule of somebody else's")
	}
	c.Nothing("an answer to a connection from outside", nil)

	b.apply(b.plan(firewall.Network{Inbound: []int{3000}}))
	if err := dial(dialLimit); err != nil {
		t.Errorf("inbound port: %v", err)
	}
	if err := b.send(agentUID, 0, netnstest.InternetAddr4.String()+":3000", "x"); err == nil {
		t.Error("an inbound port opened the way out")
	}
	c.Nothing("out over an inbound port", func(p netnstest.Packet) bool {
		return p.SrcPort == 3000 // the connection that was let in, whose end may come late
	})
}
