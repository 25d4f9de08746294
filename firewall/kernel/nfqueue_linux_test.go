package kernel_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// holdingBench is closedBench with a plan that holds packets, and whoever
// listens for them. Nothing is let go before it serves.
func holdingBench(t testing.TB, backend kernel.Backend) (*bench, *kernel.Holder) {
	t.Helper()
	testenv.Program(t, "iptables-"+string(backend)+"-restore")
	b := newBench(t, backend)
	f := facts
	f.NFLOG, f.Queue = b.k.Facts().NFLOG, b.k.Facts().Queue
	if !f.Queue {
		testenv.Missing(t, "NFQUEUE in the kernel", "nfnetlink_queue, xt_NFQUEUE")
	}
	plan := b.planFor(firewall.Network{Allow: []string{allowed + ":443", "[" + allowed6 + "]:443"}}, f)
	b.apply(plan)
	if err := b.verify(plan); err != nil {
		t.Fatal(err)
	}
	var h *kernel.Holder
	var err error
	b.Sandbox.Do(func() { h, err = b.k.OpenHolder() })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return b, h
}

// errAgain says that a connection's first packet had to be sent again, after a
// second, so that it was not refused at once.
var errAgain = errors.New("sent again")

// begin has the agent connect to many addresses at once, and sends what becomes
// of each.
func (b *bench) begin(to ...string) <-chan error {
	ends := make(chan error, len(to))
	for _, text := range to {
		target := netip.MustParseAddrPort(text)
		domain, sa := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(target.Port()), Addr: target.Addr().As16()})
		if target.Addr().Is4() {
			domain, sa = unix.AF_INET, &unix.SockaddrInet4{Port: int(target.Port()), Addr: target.Addr().As4()}
		}
		var fd int
		var err error
		b.Sandbox.As(agentUID, func() {
			if fd, err = unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err == nil {
				err = unix.Connect(fd, sa)
			}
		})
		go func() {
			defer unix.Close(fd)
			if errors.Is(err, unix.EINPROGRESS) {
				_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, int(dialLimit.Milliseconds()))
				if err == nil {
					var code int
					if code, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && code != 0 {
						err = unix.Errno(code)
					}
				}
			}
			if info, e := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); e != nil || info.Total_retrans > 0 {
				err = errors.Join(err, errAgain, e)
			}
			ends <- err
		}()
	}
	return ends
}

func eachBackend(t *testing.T, f func(t *testing.T, backend kernel.Backend)) {
	for _, backend := range []kernel.Backend{kernel.NFT, kernel.Legacy} {
		t.Run(string(backend), func(t *testing.T) { f(t, backend) })
	}
}

// While a packet is held its socket is there to be looked at; then the packet
// filter refuses the connection as it would have without that.
func TestAHeldConnectionIsSeenAndThenRefused(t *testing.T) {
	eachBackend(t, func(t *testing.T, backend kernel.Backend) {
		b, h := holdingBench(t, backend)
		listen(t, b.Internet, allowed+":443")
		c := b.Capture(t)
		var mu sync.Mutex
		var seen []string
		ended := make(chan error, 1)
		go func() {
			ended <- h.Serve(func(src, dst netip.AddrPort) {
				state := "gone"
				b.Sandbox.Do(func() {
					for _, table := range []string{"tcp", "tcp6"} {
						text, err := os.ReadFile("/proc/thread-self/net/" + table)
						if err == nil && strings.Contains(string(text), fmt.Sprintf(":%04X 02 ", dst.Port())) { // SYN_SENT
							state = "waiting"
						}
					}
				})
				mu.Lock()
				seen = append(seen, dst.String()+" "+state)
				mu.Unlock()
			})
		}()
		targets := []string{other + ":22", "[" + other6 + "]:443", allowed + ":853", metadata + ":80", other + ":22"}
		for _, to := range targets {
			if err := <-b.begin(to); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("%s: %v, want a refusal", to, err)
			}
		}
		c.Nothing("what was held", nil)
		if conn, err := b.dial("tcp", allowed+":443"); err != nil {
			t.Errorf("an allowed destination: %v", err)
		} else {
			echo(t, conn, "hello")
			conn.Close()
		}
		want := []string{other + ":22 waiting", "[" + other6 + "]:443 waiting", allowed + ":853 waiting", metadata + ":80 waiting"}
		if mu.Lock(); !slices.Equal(seen, want) {
			t.Errorf("held %q, want %q: what is refused, each destination once", seen, want)
		}
		mu.Unlock()
		h.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Attack: connect while the listener of held packets is dead, asleep, or
// drowned. Nothing may get out, and nobody may wait for long.
func TestAttackTheListenerOfHeldPackets(t *testing.T) {
	var many []string
	for port := range 100 {
		many = append(many, fmt.Sprintf("%s:%d", other, 2000+port))
	}
	many = append(many, other+":443", "["+other6+"]:443")
	refused := func(t *testing.T, b *bench, what string, to ...string) {
		t.Helper()
		c := b.Capture(t)
		ends := b.begin(to...)
		for range to {
			if err := <-ends; !errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, errAgain) {
				t.Errorf("%s: %v, want a refusal at once", what, err)
			}
		}
		c.Nothing(what, nil)
	}
	eachBackend(t, func(t *testing.T, backend kernel.Backend) {
		b, h := holdingBench(t, backend)
		for _, at := range []string{other + ":443", "[" + other6 + "]:443"} {
			listen(t, b.Internet, at)
		}
		// A listener that does nothing: some wait, the others are refused at once.
		c := b.Capture(t)
		ends := b.begin(many...)
		const mostHeld = 16
		for i := range many {
			if i == len(many)-mostHeld {
				h.Close() // what it holds when it dies is lost, and comes again
			}
			err := <-ends
			if again := i >= len(many)-mostHeld; !errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, errAgain) != again {
				t.Errorf("connection %d beside a listener that does nothing and dies: %v, want a refusal", i, err)
			}
		}
		c.Nothing("beside a listener that does nothing and dies", nil)
		refused(t, b, "without a listener", other+":4000", "["+other6+"]:4000")
	})
}

// Attack: take the queue, so that nobody is seen. It takes a capability.
func TestAttackListeningForHeldPackets(t *testing.T) {
	b, h := holdingBench(t, kernel.NFT)
	h.Close()
	var err error
	b.Sandbox.As(agentUID, func() {
		var stolen *kernel.Holder
		if stolen, err = b.k.OpenHolder(); err == nil {
			stolen.Close()
		}
	})
	if !errors.Is(err, unix.EPERM) {
		t.Errorf("the agent's user may listen: %v", err)
	}
	b.Sandbox.Do(func() { h, err = b.k.OpenHolder() })
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
}

// The time that holding adds to a refusal.
func BenchmarkRefusedConnection(b *testing.B) {
	bench, h := holdingBench(b, kernel.NFT)
	var held atomic.Int64
	go func() { _ = h.Serve(func(_, _ netip.AddrPort) { held.Add(1) }) }()
	connect := func(to string) {
		bench.Sandbox.Do(func() {
			if conn, err := net.DialTimeout("tcp", to, time.Second); err == nil {
				conn.Close()
				b.Error("connected")
			}
		})
	}
	port := 1000
	b.Run("held", func(b *testing.B) {
		before := held.Load()
		for b.Loop() {
			port++
			connect(fmt.Sprintf("%s:%d", other, port))
		}
		if got := int(held.Load() - before); got != b.N {
			b.Errorf("%d of %d were held", got, b.N)
		}
	})
	b.Run("not held", func(b *testing.B) {
		connect(other + ":999")
		before := held.Load()
		for b.Loop() {
			connect(other + ":999")
		}
		if held.Load() != before {
			b.Error("some were held")
		}
	})
}
