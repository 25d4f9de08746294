package kernel_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// The lab's internet. allowed and allowed6 are open on port 443/tcp by address
// entries, and everything else must not arrive.
const (
	allowed   = "198.51.100.10"
	allowed6  = "2001:db8:a::10"
	other     = "198.51.100.20"
	other6    = "2001:db8:a::20"
	upstream  = "203.0.113.53"
	metadata  = "169.254.169.254"
	resolver  = 5300
	guardPort = 5380
	mark      = 0x5b0001
	agentUID  = 1000
	dialLimit = 5 * time.Second
)

var facts = firewall.Facts{
	Upstreams:    []netip.Addr{netip.MustParseAddr(upstream)},
	ResolverPort: resolver,
	GuardPort:    guardPort,
	Mark:         mark,
}

// bench is a lab with an opened kernel in its sandbox.
type bench struct {
	*netnstest.Lab
	t testing.TB
	k *kernel.Kernel
}

func newBench(t testing.TB, backend kernel.Backend) *bench {
	t.Helper()
	b := &bench{Lab: netnstest.New(t, allowed, allowed6, other, other6, upstream, metadata), t: t}
	testenv.Program(t, "iptables-restore")
	var err error
	b.Sandbox.Do(func() { b.k, err = kernel.OpenBackend(context.Background(), backend) })
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(b.k.Close)
	return b
}

// closedBench is a bench whose plan opens allowed and allowed6 on 443/tcp.
func closedBench(t testing.TB) *bench {
	t.Helper()
	b := newBench(t, "")
	b.apply(b.plan(firewall.Network{Allow: []string{allowed + ":443", "[" + allowed6 + "]:443"}}))
	return b
}

func (b *bench) plan(n firewall.Network) firewall.Plan {
	b.t.Helper()
	return b.planFor(n, facts)
}

// planBesideAnEngine is the plan where the engine's resolver is the upstream.
func (b *bench) planBesideAnEngine(n firewall.Network) firewall.Plan {
	b.t.Helper()
	f := facts
	f.Upstreams = []netip.Addr{netip.MustParseAddr("127.0.0.11")}
	return b.planFor(n, f)
}

func (b *bench) planFor(n firewall.Network, f firewall.Facts) firewall.Plan {
	b.t.Helper()
	p, errs := firewall.NewPolicy(n)
	if errs != nil {
		b.t.Fatalf("NewPolicy: %v", errs)
	}
	f.IPv6 = b.k.Facts().IPv6
	plan, err := firewall.Compile(p, f)
	if err != nil {
		b.t.Fatalf("Compile: %v", err)
	}
	return plan
}

func (b *bench) apply(plan firewall.Plan) {
	b.t.Helper()
	var err error
	b.Sandbox.Do(func() { err = b.k.Apply(context.Background(), plan) })
	if err != nil {
		b.t.Fatalf("Apply: %v", err)
	}
}

func (b *bench) verify(plan firewall.Plan) error {
	var err error
	b.Sandbox.Do(func() { err = b.k.Verify(context.Background(), plan) })
	return err
}

// dial connects from the sandbox as the agent's user.
func (b *bench) dial(network, to string) (net.Conn, error) {
	var conn net.Conn
	var err error
	b.Sandbox.As(agentUID, func() { conn, err = net.DialTimeout(network, to, dialLimit) })
	return conn, err
}

// send sends one datagram from the sandbox as uid, with a mark unless it is 0.
func (b *bench) send(uid, mark int, to string, payload string) error {
	var err error
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var set error
		err := c.Control(func(fd uintptr) {
			if mark != 0 {
				set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MARK, mark)
			}
		})
		return errors.Join(err, set)
	}}
	b.Sandbox.As(uid, func() {
		var conn net.Conn
		if conn, err = dialer.Dial("udp", to); err == nil {
			_, err = conn.Write([]byte(payload))
			conn.Close()
		}
	})
	return err
}

// listen opens a TCP listener in ns that accepts and answers "hello" once, then
// echoes.
func listen(t testing.TB, ns *netnstest.Namespace, address string) {
	t.Helper()
	var l net.Listener
	var err error
	ns.Do(func() { l, err = net.Listen("tcp", address) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 512)
				for {
					n, err := c.Read(buf)
					if err != nil {
						return
					}
					if _, err := c.Write(buf[:n]); err != nil {
						return
					}
				}
			}()
		}
	}()
}

// echo sends word over conn and wants it back.
func echo(t testing.TB, conn net.Conn, word string) {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(dialLimit)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte(word)); err != nil {
		t.Fatalf("echo %q: %v", word, err)
	}
	buf := make([]byte, len(word))
	if _, err := conn.Read(buf); err != nil || string(buf) != word {
		t.Fatalf("echo %q: got %q, %v", word, buf, err)
	}
}

func neighbours(p netnstest.Packet) bool {
	return p.Proto == unix.IPPROTO_ICMPV6 && (p.Type == 135 || p.Type == 136)
}

func TestAllowedIsReached(t *testing.T) {
	b := closedBench(t)
	for _, to := range []string{allowed + ":443", "[" + allowed6 + "]:443"} {
		listen(t, b.Internet, to)
		conn, err := b.dial("tcp", to)
		if err != nil {
			t.Fatalf("%s: %v", to, err)
		}
		echo(t, conn, "hello")
		conn.Close()
	}
}

func TestRefusedFailsAtOnce(t *testing.T) {
	b := closedBench(t)
	for _, to := range []string{other + ":443", "[" + other6 + "]:443"} {
		if _, err := b.dial("tcp", to); !errors.Is(err, unix.ECONNREFUSED) {
			t.Errorf("tcp %s: %v, want connection refused", to, err)
		}
		if err := b.send(agentUID, 0, to, "x"); err == nil {
			t.Errorf("udp %s: sent", to)
		}
	}
}

func TestBothBackendsHoldThePlan(t *testing.T) {
	for _, backend := range []kernel.Backend{kernel.NFT, kernel.Legacy} {
		t.Run(string(backend), func(t *testing.T) {
			testenv.Program(t, "iptables-"+string(backend)+"-restore")
			b := newBench(t, backend)
			if b.k.Backend() != backend {
				t.Fatalf("backend %s", b.k.Backend())
			}
			plan := b.plan(firewall.Network{
				Allow:   []string{allowed + ":443", "[" + allowed6 + "]:443", "192.0.2.0/28"},
				Deny:    []string{"192.0.2.8/29", "198.51.100.99:22/tcp", "2001:db8:bad::/48"},
				Inbound: []int{3000},
			})
			b.apply(plan)
			if err := b.verify(plan); err != nil {
				t.Fatal(err)
			}
			b.apply(plan)
			if err := b.verify(plan); err != nil {
				t.Fatalf("applied twice: %v", err)
			}
			closed := firewall.ClosedPlan(b.k.Facts())
			b.apply(closed)
			if err := b.verify(closed); err != nil {
				t.Fatalf("closed: %v", err)
			}
			audit := facts
			audit.NFLOG = b.k.Facts().NFLOG
			audit.Around = []netip.Prefix{netip.PrefixFrom(netnstest.SandboxAddr4, 24), netip.PrefixFrom(netnstest.SandboxAddr6, 64)}
			for _, n := range []firewall.Network{
				{Mode: firewall.ModeAudit, Deny: []string{"203.0.113.0/28", "198.51.100.7:80"}},
				{Mode: firewall.ModeHost},
				{Mode: firewall.ModeNone},
			} {
				next := b.planFor(n, audit)
				b.apply(next)
				if err := b.verify(next); err != nil {
					t.Fatalf("%s: %v", n.Mode, err)
				}
			}
		})
	}
}

// Open closes, by rules when it returns and by policy soon after, and its probe
// leaves nothing behind.
func TestOpenCloses(t *testing.T) {
	for _, backend := range []kernel.Backend{kernel.NFT, kernel.Legacy} {
		t.Run(string(backend), func(t *testing.T) {
			testenv.Program(t, "iptables-"+string(backend)+"-restore")
			b := newBench(t, backend)
			c := b.Capture(t)
			for _, to := range []string{allowed + ":443", "[" + allowed6 + "]:443"} {
				_ = b.send(agentUID, 0, to, "leak")
			}
			c.Nothing("when Open has returned", nil)
			if err := b.k.Settle(); err != nil {
				t.Fatal(err)
			}
			if err := b.verify(firewall.ClosedPlan(b.k.Facts())); err != nil {
				t.Error(err)
			}
			for _, program := range []string{"iptables-", "ip6tables-"} {
				if saved := b.run(program + string(backend) + "-save"); strings.Contains(saved, "PROBE") || strings.Contains(saved, "ACCEPT [") {
					t.Errorf("after Open:\n%s", saved)
				}
			}
		})
	}
}

// saved lists all rules of the sandbox.
func (b *bench) saved() string {
	return b.run("iptables-save") + b.run("ip6tables-save")
}

// run runs a program in the sandbox.
func (b *bench) run(name string, args ...string) string {
	b.t.Helper()
	var out []byte
	var err error
	path := testenv.Program(b.t, name)
	b.Sandbox.Do(func() { out, err = exec.Command(path, args...).CombinedOutput() })
	if err != nil {
		b.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
