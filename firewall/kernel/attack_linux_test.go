package kernel_test

import (
	"bytes"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// tries sends UDP and begins TCP from the agent's user to each address.
func (b *bench) tries(addresses ...string) {
	for _, to := range addresses {
		_ = b.send(agentUID, 0, to, "leak") // judged by what arrives
		if conn, err := b.dial("tcp", to); err == nil {
			conn.Close()
		}
	}
}

func TestLeakOverIPv6(t *testing.T) {
	b := newBench(t, "")
	b.apply(b.plan(firewall.Network{Allow: []string{allowed + ":443"}}))
	c := b.Capture(t) // not earlier: until then the kernel announces the interface
	b.tries("["+other6+"]:443", "["+other6+"]:80", "["+allowed6+"]:443", "["+netnstest.InternetAddr6.String()+"]:22")
	c.Nothing("IPv6 with an IPv4 allowlist", nil)
}

func TestLeakWhileClosed(t *testing.T) {
	b := newBench(t, "")
	plan := firewall.ClosedPlan(b.k.Facts())
	b.apply(plan)
	c := b.Capture(t)
	for _, to := range []string{allowed + ":443", "[" + allowed6 + "]:443", upstream + ":53", metadata + ":80"} {
		_ = b.send(0, mark, to, "leak")
		_ = b.send(agentUID, 0, to, "leak")
	}
	c.Nothing("while closed", nil)
	if err := b.send(agentUID, 0, "127.0.0.1:9", "x"); err == nil {
		t.Error("loopback is open while closed: a resolver that listens there would be a way out")
	}
}

func TestQUICToAddressAllowedForTCP(t *testing.T) {
	b := closedBench(t)
	c := b.Capture(t)
	for _, to := range []string{allowed + ":443", "[" + allowed6 + "]:443"} {
		if err := b.send(agentUID, 0, to, "quic"); err == nil {
			t.Errorf("%s: sent", to)
		}
	}
	c.Nothing("UDP to a TCP entry", nil)
}

func TestOtherPortOfAllowedAddress(t *testing.T) {
	b := closedBench(t)
	c := b.Capture(t)
	b.tries(allowed+":22", allowed+":80", allowed+":8443", "["+allowed6+"]:22", "["+allowed6+"]:4430")
	c.Nothing("other ports", nil)
}

func TestMetadataService(t *testing.T) {
	b := closedBench(t)
	c := b.Capture(t)
	b.tries(metadata+":80", "[fd00:ec2::254]:80")
	c.Nothing("metadata", nil)
}

func TestDNSToAnotherServer(t *testing.T) {
	b := closedBench(t)
	got := b.resolverAt(t, "127.0.0.1:5300")
	got6 := b.resolverAt(t, "[::1]:5300")
	c := b.Capture(t)
	for _, to := range []string{other + ":53", upstream + ":53", "8.8.8.8:53", "127.0.0.11:53", "127.0.0.1:53"} {
		b.query(t, to, got)
	}
	for _, to := range []string{"[" + other6 + "]:53", "[2001:4860:4860::8888]:53"} {
		b.query(t, to, got6)
	}
	c.Nothing("DNS to another server", nil)
}

// resolverAt listens in the place of the sandbox's resolver and reports each
// message, which over TCP is also echoed.
func (b *bench) resolverAt(t *testing.T, address string) <-chan string {
	t.Helper()
	got := make(chan string, 16)
	var pc net.PacketConn
	var err error
	b.Sandbox.Do(func() { pc, err = net.ListenPacket("udp", address) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	go func() {
		buf := make([]byte, 512)
		for {
			n, _, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			got <- string(buf[:n])
		}
	}()
	listen(t, b.Sandbox, address)
	return got
}

// query sends over UDP and TCP to a DNS server and wants the sandbox's
// resolver to get it.
func (b *bench) query(t *testing.T, to string, got <-chan string) {
	t.Helper()
	if err := b.send(agentUID, 0, to, to); err != nil {
		t.Errorf("udp %s: %v", to, err)
		return
	}
	select {
	case message := <-got:
		if message != to {
			t.Errorf("the resolver got %q, not the query to %s", message, to)
		}
	case <-time.After(dialLimit):
		t.Errorf("udp %s: the resolver got nothing", to)
	}
	conn, err := b.dial("tcp", to)
	if err != nil {
		t.Errorf("tcp %s: %v", to, err)
		return
	}
	defer conn.Close()
	echo(t, conn, "query")
}

func TestDNSOverTLS(t *testing.T) {
	b := newBench(t, "")
	b.apply(b.plan(firewall.Network{Allow: []string{"198.51.100.0/24", "[2001:db8:a::/64]:443"}}))
	// Even if a slip elsewhere put the port into a set.
	for _, addr := range []string{allowed, allowed6} {
		ports := []firewall.Port{{Number: 853, Proto: firewall.TCP}, {Number: 853, Proto: firewall.UDP}}
		if err := b.k.Allow(netip.MustParseAddr(addr), ports, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	c := b.Capture(t)
	b.tries(allowed+":853", other+":853", "["+allowed6+"]:853", upstream+":853")
	c.Nothing("DNS over TLS and QUIC", nil)
}

// icmpEcho is an echo request; the kernel fills in the checksum of ICMPv6 and
// of ping sockets, and a leak with a wrong one is a leak.
func icmpEcho(kind byte) []byte {
	return append([]byte{kind, 0, 0xf7, 0xfd, 0, 1, 0, 1}, "data to carry out"...)
}

func TestICMPEchoTunnel(t *testing.T) {
	b := closedBench(t)
	c := b.Capture(t)
	b.raw(unix.IPPROTO_ICMP, allowed, icmpEcho(8))
	b.raw(unix.IPPROTO_ICMP, other, icmpEcho(8))
	b.raw(unix.IPPROTO_ICMPV6, allowed6, icmpEcho(128))
	b.raw(unix.IPPROTO_ICMPV6, other6, icmpEcho(128))
	c.Nothing("ICMP echo", nil)
}

// raw sends a packet of any protocol from root's raw socket without a mark.
func (b *bench) raw(proto int, to string, payload []byte) {
	b.t.Helper()
	addr := netip.MustParseAddr(to)
	var open error
	b.Sandbox.Do(func() {
		domain := unix.AF_INET
		var dst unix.Sockaddr = &unix.SockaddrInet4{Addr: [4]byte(addr.AsSlice()[:4])}
		if addr.Is6() {
			domain, dst = unix.AF_INET6, &unix.SockaddrInet6{Addr: addr.As16()}
		}
		var fd int
		if fd, open = unix.Socket(domain, unix.SOCK_RAW|unix.SOCK_CLOEXEC, proto); open != nil {
			return
		}
		defer unix.Close(fd)
		_ = unix.Sendto(fd, payload, 0, dst) // judged by what arrives
	})
	if open != nil {
		b.t.Fatalf("opening a raw socket: %v", open)
	}
}

func TestRawSocketOfRootWithoutMark(t *testing.T) {
	b := closedBench(t)
	c := b.Capture(t)
	query := []byte("\x80\x00\x00\x35\x00\x0c\x00\x00leak") // UDP from 32768 to 53
	b.raw(unix.IPPROTO_UDP, upstream, query)
	b.raw(unix.IPPROTO_UDP, allowed, query)
	syn := append([]byte("\x80\x00\x01\xbb\x00\x00\x00\x01\x00\x00\x00\x00\x50\x02\xff\xff\x00\x00\x00\x00"), "leak"...)
	b.raw(unix.IPPROTO_TCP, other, syn)
	for _, proto := range []int{unix.IPPROTO_SCTP, unix.IPPROTO_GRE, unix.IPPROTO_ESP, 253} {
		b.raw(proto, other, []byte("leak in a protocol of its own"))
		b.raw(proto, allowed, []byte("leak in a protocol of its own"))
		b.raw(proto, allowed6, []byte("leak in a protocol of its own"))
	}
	c.Nothing("raw sockets", nil)
}

// A neighbour solicitation has room for data, and as ICMPv6 it goes to any
// address; only the kernel's own may pass.
func TestTunnelInNeighbourSolicitations(t *testing.T) {
	b := closedBench(t)
	c := b.Capture(t)
	for _, kind := range []byte{135, 136} {
		b.raw(unix.IPPROTO_ICMPV6, other6, append(icmpEcho(kind), bytes.Repeat([]byte("x"), 64)...))
		b.raw(unix.IPPROTO_ICMPV6, "ff02::1", icmpEcho(kind))
	}
	c.Nothing("solicitations of a program's own", func(p netnstest.Packet) bool {
		return neighbours(p) && p.Dst != netip.MustParseAddr(other6) && p.Dst != netip.MustParseAddr("ff02::1")
	})
}

func TestMulticastChatter(t *testing.T) {
	b := closedBench(t)
	c := b.Capture(t)
	var err error
	b.Sandbox.As(agentUID, func() {
		var eth0 *net.Interface
		if eth0, err = net.InterfaceByName("eth0"); err != nil {
			return
		}
		for _, group := range []string{"224.0.0.251:5353", "[ff02::fb]:5353", "239.255.255.250:1900"} {
			addr := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(group))
			var pc *net.UDPConn
			if pc, err = net.ListenMulticastUDP("udp", eth0, addr); err != nil {
				return
			}
			addr.Zone = "eth0"
			_, _ = pc.WriteTo([]byte("who is there"), addr)
			pc.Close() // leaves the group, which is reported as well
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Nothing("IGMP, MLD and mDNS", nil)
}

// Networks behind the sandbox, such as those of an engine inside it, are not
// judged by the rules for what the sandbox itself sends, and whoever makes them
// adds rules that pass on what they send.
func TestLeakThroughAnEngineInside(t *testing.T) {
	b := newBench(t, "")
	nsenter, shell := testenv.Program(t, "nsenter"), testenv.Program(t, "bash")
	inner := exec.Command(testenv.Program(t, "unshare"), "--net", shell, "-c", "echo ready; read")
	hold, err := inner.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	ready, err := inner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := inner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hold.Close(); _ = inner.Wait() })
	if _, err := ready.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	inside := func(script string) {
		t.Helper()
		b.run(nsenter, "-t", strconv.Itoa(inner.Process.Pid), "-n", shell, "-c", script)
	}
	b.run(shell, "-ec", "ip link add in0 type veth peer name in1 netns "+strconv.Itoa(inner.Process.Pid)+
		"; ip addr add 10.99.0.1/24 dev in0; ip link set in0 up; echo 1 >/proc/sys/net/ipv4/ip_forward; iptables -A FORWARD -j ACCEPT")
	inside("ip addr add 10.99.0.2/24 dev in1 && ip link set in1 up && ip route add default via 10.99.0.1")
	leak := func() { t.Helper(); inside("echo leak >/dev/udp/" + other + "/443") }
	fromInside := func(p netnstest.Packet) bool { return p.Src == netip.MustParseAddr("10.99.0.2") }

	b.apply(b.plan(firewall.Network{Mode: firewall.ModeHost}))
	c := b.Capture(t)
	for deadline := time.Now().Add(dialLimit); ; { // the first wait for the neighbours' link addresses
		leak()
		if slices.ContainsFunc(c.Arrived(), fromInside) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("without a firewall nothing arrives either, so this test shows nothing")
		}
	}
	b.apply(b.plan(firewall.Network{Allow: []string{other + ":443"}}))
	c = b.Capture(t)
	leak()
	if slices.ContainsFunc(c.Arrived(), fromInside) {
		t.Error("what a network behind the sandbox sends arrives")
	}
}
