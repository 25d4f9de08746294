package kernel_test

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

func TestCutEndsWhatIsNotKeptInBothFamilies(t *testing.T) {
	for _, backend := range []kernel.Backend{kernel.NFT, kernel.Legacy} {
		t.Run(string(backend), func(t *testing.T) {
			testenv.Program(t, "iptables-"+string(backend)+"-restore")
			b := newBench(t, backend)
			open := firewall.Network{Allow: []string{allowed + ":443", other + ":443", "[" + allowed6 + "]:443", "[" + other6 + "]:443"}}
			b.apply(b.plan(open))
			listen(t, b.Internet, "[::]:443")
			alive := func(to string) func() bool {
				conn, err := b.dial("tcp", to)
				if err != nil {
					t.Fatalf("%s: %v", to, err)
				}
				t.Cleanup(func() { conn.Close() })
				echo(t, conn, "before")
				return func() bool {
					_ = conn.SetDeadline(time.Now().Add(dialLimit))
					_, err := io.WriteString(conn, "after")
					if err == nil {
						_, err = io.ReadFull(conn, make([]byte, len("after")))
					}
					return err == nil
				}
			}
			kept, kept6 := alive(allowed+":443"), alive("["+allowed6+"]:443")
			cut, cut6 := alive(other+":443"), alive("["+other6+"]:443")

			// The rules first: what they still allow would be remembered again.
			b.apply(b.plan(firewall.Network{Allow: []string{allowed + ":443", "[" + allowed6 + "]:443"}}))
			ended, err := b.k.Cut(func(f kernel.Flow) bool {
				if f.Proto != unix.IPPROTO_TCP || f.Dst != f.Real || f.Dst.Port() != 443 {
					return true
				}
				return f.Dst.Addr() == netip.MustParseAddr(allowed) || f.Dst.Addr() == netip.MustParseAddr(allowed6)
			})
			if err != nil || ended != 2 {
				t.Errorf("ended %d connections (%v), want 2", ended, err)
			}
			wire := b.Capture(t)
			if !kept() || !kept6() {
				t.Error("a connection that is kept was cut")
			}
			if cut() || cut6() {
				t.Error("a connection that is not kept lives on")
			}
			wire.Nothing("connections that were cut", func(p netnstest.Packet) bool {
				return neighbours(p) || p.Dst == netip.MustParseAddr(allowed) || p.Dst == netip.MustParseAddr(allowed6)
			})
			flows, err := b.k.Flows()
			if err != nil || len(flows) < 2 {
				t.Errorf("%d connections are listed (%v), want the kept ones", len(flows), err)
			}
		})
	}
}

func TestPruneClosesLearnedAddresses(t *testing.T) {
	b := newBench(t, "")
	none := func(netip.Addr, firewall.Port) bool { return false }
	if n, err := b.k.Prune(none); n != 0 || err != nil {
		t.Errorf("without sets: %d, %v", n, err)
	}
	plan := b.plan(firewall.Network{Allow: []string{"ok.example"}})
	b.apply(plan)
	ports := []firewall.Port{{Number: 443, Proto: firewall.TCP}, {Number: 443, Proto: firewall.UDP}}
	for _, addr := range []string{other, other6} {
		if err := b.k.Allow(netip.MustParseAddr(addr), ports, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := b.k.Prune(func(_ netip.Addr, p firewall.Port) bool { return p.Proto == firewall.UDP }); n != 2 || err != nil {
		t.Errorf("%d, %v: want one port of each address", n, err)
	}
	if listed := b.run("ipset", "list"); strings.Contains(listed, "tcp:443") || strings.Count(listed, "udp:443") != 2 {
		t.Errorf("the sets hold\n%s", listed)
	}
	if n, err := b.k.Prune(none); n != 2 || err != nil {
		t.Errorf("%d, %v: want the rest", n, err)
	}
	if err := b.k.Forget(netip.MustParseAddr("192.0.2.9"), []firewall.Port{{Number: 443, Proto: firewall.TCP}}); err == nil {
		t.Error("an address that is not open was closed")
	}
}

func TestGenerationChangesWithTheRulesAlone(t *testing.T) {
	b := newBench(t, kernel.NFT)
	plan := b.plan(firewall.Network{Allow: []string{allowed + ":443"}})
	b.apply(plan)
	generation := func() uint32 {
		t.Helper()
		var g uint32
		var ok bool
		var err error
		b.Sandbox.Do(func() { g, ok, err = b.k.Generation() })
		if err != nil || !ok {
			t.Fatalf("%v, %v", ok, err)
		}
		return g
	}
	compare := func() (err error) {
		b.Sandbox.Do(func() { err = b.k.Compare(context.Background(), plan) })
		return err
	}
	before := generation()
	if err := compare(); err != nil {
		t.Error(err)
	}
	_ = b.send(agentUID, 0, other+":443", "x")
	if after := generation(); after != before {
		t.Errorf("the generation went from %d to %d while nobody changed a rule", before, after)
	}
	b.run("iptables-nft", "-I", "OUTPUT", "1", "-j", "ACCEPT")
	b.run("ip6tables-nft", "-F", "SBX-OUT")
	if after := generation(); after == before {
		t.Error("the generation stayed while a rule was added")
	}
	if err := compare(); err == nil || !strings.Contains(err.Error(), "IPv4") || !strings.Contains(err.Error(), "IPv6") {
		t.Errorf("%v: want a difference in each family", err)
	}
}

// Whoever only reads from a connection that is cut must not wait for ever, and
// nobody outside hears of it.
func TestCutEndsTheSocketOfWhoeverReads(t *testing.T) {
	b := newBench(t, "")
	b.apply(b.plan(firewall.Network{Allow: []string{allowed + ":443", other + ":443", "[" + other6 + "]:443"}}))
	listen(t, b.Internet, "[::]:443")
	ended := map[string]chan error{}
	kept, err := b.dial("tcp", allowed+":443")
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	for _, to := range []string{other + ":443", "[" + other6 + "]:443"} {
		conn, err := b.dial("tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		echo(t, conn, "before")
		done := make(chan error, 1)
		ended[to] = done
		go func() {
			_ = conn.SetReadDeadline(time.Now().Add(dialLimit))
			_, err := conn.Read(make([]byte, 1))
			done <- err
		}()
	}
	b.apply(b.plan(firewall.Network{Allow: []string{allowed + ":443"}}))
	wire := b.Capture(t)
	if _, err := b.k.Cut(func(f kernel.Flow) bool { return f.Dst.Addr() == netip.MustParseAddr(allowed) }); err != nil {
		t.Fatal(err)
	}
	for to, done := range ended {
		if err := <-done; !errors.Is(err, unix.ECONNABORTED) {
			t.Errorf("reading from %s ended with %v, want that the connection was aborted", to, err)
		}
	}
	echo(t, kept, "still here")
	wire.Nothing("ending sockets", func(p netnstest.Packet) bool {
		return neighbours(p) || p.Dst == netip.MustParseAddr(allowed)
	})
}
