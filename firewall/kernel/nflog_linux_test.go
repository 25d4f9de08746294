package kernel_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// reports collects what the packet filter of a bench reports.
type reports struct {
	t testing.TB
	*kernel.Refusals
	mu   sync.Mutex
	list []kernel.Refusal
	lost int
}

// reportingBench is closedBench with reports. Nothing is received before serve.
func reportingBench(t testing.TB, backend kernel.Backend) (*bench, *reports) {
	t.Helper()
	b := newBench(t, backend)
	f := facts
	f.NFLOG = b.k.Facts().NFLOG
	if !f.NFLOG {
		testenv.Missing(t, "NFLOG in the kernel", "nfnetlink_log, xt_NFLOG")
	}
	plan := b.planFor(firewall.Network{Allow: []string{allowed + ":443", "[" + allowed6 + "]:443"}}, f)
	b.apply(plan)
	r := &reports{t: t}
	var err error
	b.Sandbox.Do(func() { r.Refusals, err = b.k.OpenRefusals() })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if err := b.verify(plan); err != nil { // its own packets are nobody's
		t.Fatal(err)
	}
	return b, r
}

func (r *reports) serve() {
	ended := make(chan error, 1)
	go func() {
		ended <- r.Serve(func(p kernel.Refusal) {
			r.mu.Lock()
			r.list = append(r.list, p)
			r.mu.Unlock()
		}, func(n int, _ bool) {
			r.mu.Lock()
			r.lost += n
			r.mu.Unlock()
		})
	}()
	r.t.Cleanup(func() {
		r.Close()
		if err := <-ended; err != nil {
			r.t.Errorf("receiving: %v", err)
		}
	})
}

// until waits until the reports are as done wants them.
func (r *reports) until(what string, done func(list []kernel.Refusal, lost int) bool) {
	r.t.Helper()
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		r.mu.Lock()
		list, lost := slices.Clone(r.list), r.lost
		r.mu.Unlock()
		if done(list, lost) {
			return
		}
		if time.Since(begin) > dialLimit {
			r.t.Fatalf("%s: got %d reports, %d lost: %v", what, len(list), lost, list[:min(len(list), 20)])
		}
	}
}

func (r *reports) strings(list []kernel.Refusal) []string {
	var out []string
	for _, p := range list {
		out = append(out, fmt.Sprintf("%d %s uid %d", p.Proto, p.Dst, p.UID))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestEveryRefusedPacketOfAProgramIsReported(t *testing.T) {
	for _, backend := range []kernel.Backend{kernel.NFT, kernel.Legacy} {
		t.Run(string(backend), func(t *testing.T) {
			testenv.Program(t, "iptables-"+string(backend)+"-restore")
			b, r := reportingBench(t, backend)
			r.serve()
			b.tries(other+":22", "["+other6+"]:443", allowed+":853")
			b.ping(t, other, unix.IPPROTO_ICMP, 8)
			b.ping(t, other6, unix.IPPROTO_ICMPV6, 128)
			if conn, err := b.dial("udp", "127.0.0.1:9"); err == nil { // open: no report
				_, _ = conn.Write([]byte("x"))
				conn.Close()
			}
			want := []string{
				"6 " + other + ":22 uid 1000", "17 " + other + ":22 uid 1000",
				"6 [" + other6 + "]:443 uid 1000", "17 [" + other6 + "]:443 uid 1000",
				"6 " + allowed + ":853 uid 1000", "17 " + allowed + ":853 uid 1000",
				"1 " + other + ":0 uid 0", "58 [" + other6 + "]:0 uid 0",
			}
			slices.Sort(want)
			r.until(fmt.Sprintf("want %q", want), func(list []kernel.Refusal, _ int) bool { return len(r.strings(list)) >= len(want) })
			if got := r.strings(r.list); !slices.Equal(got, want) {
				t.Errorf("reported\n%q, want\n%q", got, want)
			}
		})
	}
}

// ping sends an echo request from a raw socket, as root.
func (b *bench) ping(t testing.TB, to string, proto int, kind byte) {
	t.Helper()
	var err error
	b.Sandbox.Do(func() {
		addr := netip.MustParseAddr(to)
		domain, sa := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Addr: addr.As16()})
		if addr.Is4() {
			domain, sa = unix.AF_INET, &unix.SockaddrInet4{Addr: addr.As4()}
		}
		var fd int
		if fd, err = unix.Socket(domain, unix.SOCK_RAW|unix.SOCK_CLOEXEC, proto); err == nil {
			defer unix.Close(fd)
			_ = unix.Sendto(fd, []byte{kind, 0, 0, 0, 0, 0, 0, 1}, 0, sa) // refused
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatTheKernelItselfSaysIsNobodysAttempt(t *testing.T) {
	b, r := reportingBench(t, "")
	r.serve()
	b.Sandbox.Do(func() {
		link, err := netlink.LinkByName("eth0")
		if err == nil {
			err = errors.Join(netlink.LinkSetDown(link), netlink.LinkSetUp(link)) // listener reports, solicitations
		}
		if err != nil {
			t.Error(err)
		}
	})
	b.tries("127.0.0.11:80") // needs no route, which the link has lost
	r.until("the attempt after the chatter", func(list []kernel.Refusal, _ int) bool { return len(list) > 0 })
	for _, p := range r.list {
		if p.Dst.Addr().String() != "127.0.0.11" {
			t.Errorf("reported: %+v", p)
		}
	}
}

// While nobody receives, the flood overflows what the kernel holds. A packet that went
// elsewhere meanwhile must be reported all the same, and every packet counted.
func TestAttackFloodHidesAnotherDestination(t *testing.T) {
	b, r := reportingBench(t, "")
	const flood = 300_000
	var conn net.Conn
	var err error
	b.Sandbox.As(agentUID, func() { conn, err = net.Dial("udp", other+":4444") })
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	refused := 0
	for range flood {
		// The packet filter's word. An ICMP answer to an earlier packet also
		// ends a write, of a packet that was never sent.
		if _, err := conn.Write([]byte("x")); errors.Is(err, unix.EPERM) {
			refused++
		}
	}
	b.tries("[" + other6 + "]:4444")
	r.serve()
	wants := []string{"17 " + other + ":4444 uid 1000", "17 [" + other6 + "]:4444 uid 1000", "6 [" + other6 + "]:4444 uid 1000"}
	r.until("the hidden destination and all packets", func(list []kernel.Refusal, lost int) bool {
		// The end of the flood is known to be lost when a later packet comes.
		_, _ = conn.Write([]byte("x"))
		got := r.strings(list)
		return len(list)+lost > refused && !slices.ContainsFunc(wants, func(w string) bool { return !slices.Contains(got, w) })
	})
	if r.lost == 0 {
		t.Error("nothing was lost, so this test has not overflowed anything")
	}
}

func TestAFirewallWithoutNFLOGIsTheSame(t *testing.T) {
	dir := t.TempDir()
	for _, program := range []string{"iptables-nft", "ip6tables-nft"} {
		real := testenv.Program(t, program+"-restore")
		script := fmt.Sprintf("#!/bin/sh\nrules=$(cat)\ncase $rules in *NFLOG*) echo 'No chain/target/match by that name.' >&2; exit 1;; esac\n"+
			"printf '%%s\\n' \"$rules\" | %s \"$@\"\n", real)
		if err := os.WriteFile(filepath.Join(dir, program+"-restore"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	b := newBench(t, kernel.NFT)
	f := facts
	f.NFLOG = b.k.Facts().NFLOG
	if f.NFLOG {
		t.Fatal("NFLOG was found where there is none")
	}
	plan := b.planFor(firewall.Network{Allow: []string{allowed + ":443"}}, f)
	b.apply(plan)
	if err := b.verify(plan); err != nil {
		t.Fatal(err)
	}
	c := b.Capture(t)
	b.tries(other+":443", "["+other6+"]:443")
	c.Nothing("without NFLOG", nil)
	b.Sandbox.Do(func() {
		if _, err := b.k.OpenRefusals(); !errors.Is(err, kernel.ErrMissingModule) {
			t.Errorf("OpenRefusals: %v", err)
		}
	})
}
