package guard_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/guard"
)

// slowNames answers when it is told to.
type slowNames struct {
	names
	asked, answer chan struct{}
}

func (n slowNames) Addresses(ctx context.Context, name string, want netip.Addr) []netip.Addr {
	n.asked <- struct{}{}
	<-n.answer
	return n.names.Addresses(ctx, name, want)
}

func TestNothingArrivesBeforeTheDecision(t *testing.T) {
	for name, sent := range map[string]string{
		"TLS":  hello(sni("ok.test")) + "early",
		"HTTP": "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 4\r\n\r\nbody",
	} {
		t.Run(name, func(t *testing.T) {
			s := sink(t, answer)
			n := slowNames{names{s.addr.Addr()}, make(chan struct{}, 1), make(chan struct{})}
			b := newBench(t, s, func(o *guard.Options) { o.Names = n })
			done := make(chan string)
			go func() { done <- b.send(sent) }()
			<-n.asked
			if s.conns() != 0 {
				t.Error("the site was connected to before it was known whether that is its address")
			}
			close(n.answer)
			if back := <-done; back != answer || s.bytes() != sent {
				t.Errorf("answer %q, arrived %q", back, s.bytes())
			}
		})
	}
}

// twoHomes says that every name has two addresses.
type twoHomes [2]netip.Addr

func (h twoHomes) Addresses(context.Context, string, netip.Addr) []netip.Addr {
	return []netip.Addr{h[0], h[1]}
}

func (twoHomes) Aliases(string) []string { return nil }

func (twoHomes) NamesAt(netip.Addr) []string { return nil }

// The client believes itself connected and cannot try another address.
func TestDeadAddressIsReplaced(t *testing.T) {
	s := sink(t, answer)
	nobody := netip.MustParseAddr("127.77.77.77")
	b := newBench(t, s, func(o *guard.Options) {
		o.Names = twoHomes{s.addr.Addr(), nobody}
		o.Destination = func(*net.TCPConn) (netip.AddrPort, error) { return netip.AddrPortFrom(nobody, s.addr.Port()), nil }
	})
	if back := b.send(hello(sni("ok.test"))); back != answer {
		t.Errorf("answer %q", back)
	}
}

// homes is a zone in which names have addresses of their own.
type homes map[string][]netip.Addr

func (h homes) Addresses(_ context.Context, name string, _ netip.Addr) []netip.Addr {
	return slices.Clone(h[name])
}

func (homes) Aliases(string) []string { return nil }

func (homes) NamesAt(netip.Addr) []string { return nil }

// A connection that leads to another address than the client chose is for the
// names that have that address.
func TestAttackNextNameAtAReplacedAddress(t *testing.T) {
	s := sink(t, answer)
	nobody := netip.MustParseAddr("127.77.77.77")
	b := newBench(t, s, func(o *guard.Options) {
		o.Names = homes{"ok.test": {s.addr.Addr(), nobody}, "also.test": {nobody}}
		o.Destination = func(*net.TCPConn) (netip.AddrPort, error) { return netip.AddrPortFrom(nobody, s.addr.Port()), nil }
	})
	const first = "GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n"
	b.send(first + first + "GET /stolen HTTP/1.1\r\nHost: also.test\r\n\r\n")
	if s.bytes() != first+first {
		t.Errorf("arrived %q", s.bytes())
	}
}

// The address that a connection leads to in the end may be one that a policy
// has refused meanwhile.
func TestAttackReplacedAddressThatIsDenied(t *testing.T) {
	s := newSite(t, func(_ *site, conn *net.TCPConn) {
		_, _ = io.WriteString(conn, answer)
		_, _ = io.Copy(io.Discard, conn)
	})
	nobody := netip.MustParseAddr("127.77.77.77")
	b := newBench(t, s, func(o *guard.Options) {
		o.Names = twoHomes{s.addr.Addr(), nobody}
		o.Destination = func(*net.TCPConn) (netip.AddrPort, error) { return netip.AddrPortFrom(nobody, s.addr.Port()), nil }
	})
	conn := b.dial()
	if _, err := io.WriteString(conn, hello(sni("ok.test"))); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, len(answer))); err != nil {
		t.Fatal(err)
	}
	b.server.SetPolicy(policyFor(t, s, firewall.Network{Allow: []string{"ok.test"}, Deny: []string{s.addr.Addr().String() + "/32"}}))
	if n, err := conn.Read(make([]byte, 1000)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read %d bytes, %v, want a reset", n, err)
	}
}

func TestDeadSiteResetsTheClient(t *testing.T) {
	s := sink(t, answer)
	nobody := netip.MustParseAddr("127.77.77.77")
	b := newBench(t, s, func(o *guard.Options) {
		o.Names = names{nobody}
		o.Destination = func(*net.TCPConn) (netip.AddrPort, error) { return netip.AddrPortFrom(nobody, s.addr.Port()), nil }
	})
	conn := b.dial()
	if _, err := io.WriteString(conn, hello(sni("ok.test"))); err != nil {
		t.Fatal(err)
	}
	if back, err := io.ReadAll(conn); err == nil || len(back) > 0 {
		t.Errorf("got %q and an orderly end", back)
	}
}

// A site that takes the connection and never answers holds nothing but it.
func TestSilentSiteEndsTheHandshake(t *testing.T) {
	s := newSite(t, func(s *site, conn *net.TCPConn) { _, _ = io.Copy(s, conn) })
	b := newBench(t, s, func(o *guard.Options) { o.Timeout = 50 * time.Millisecond })
	conn := b.dial()
	if _, err := io.WriteString(conn, hello(sni("ok.test"))); err != nil {
		t.Fatal(err)
	}
	if back, err := io.ReadAll(conn); err == nil || len(back) > 0 {
		t.Errorf("got %q and an orderly end", back)
	}
}

// A client that leaves while the site has not answered yet takes the connection
// to it along, whatever it had sent ahead.
func TestLeavingWhileTheSiteIsSilent(t *testing.T) {
	for name, sent := range map[string]string{
		"TLS":             hello(sni("ok.test")),
		"TLS, early data": hello(sni("ok.test")) + strings.Repeat("early", 1000),
		"HTTP, WebSocket": toWebSocket,
		"HTTP":            "GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			left := make(chan error, 1)
			greeted := make(chan struct{}, 1)
			s := newSite(t, func(_ *site, conn *net.TCPConn) {
				_ = conn.SetDeadline(time.Now().Add(limit))
				_, _ = conn.Read(make([]byte, 1))
				greeted <- struct{}{}
				_, err := io.Copy(io.Discard, conn)
				left <- err
			})
			b := newBench(t, s, func(o *guard.Options) { o.Timeout = 10 * limit })
			conn := b.dial()
			if _, err := io.WriteString(conn, sent); err != nil {
				t.Fatal(err)
			}
			<-greeted
			_ = conn.SetLinger(0)
			conn.Close()
			if err := <-left; !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the site sees %v, want a reset", err)
			}
		})
	}
}

// A reader who stops holds up the sender, not the guard's memory.
func TestSlowReaderHoldsTheSenderBack(t *testing.T) {
	const most = 64 << 20 // far more than sockets and pipes hold
	wrote := make(chan int, 1)
	s := newSite(t, func(_ *site, conn *net.TCPConn) {
		_, _ = io.ReadFull(conn, make([]byte, len(hello(sni("ok.test")))))
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		total := 0
		for total < most {
			n, err := conn.Write(make([]byte, 64<<10))
			total += n
			if err != nil {
				break
			}
		}
		wrote <- total
	})
	b := newBench(t, s)
	conn := b.dial()
	if _, err := io.WriteString(conn, hello(sni("ok.test"))); err != nil {
		t.Fatal(err)
	}
	if n := <-wrote; n >= most {
		t.Errorf("the site could write %d bytes that nobody read", n)
	} else if got, _ := io.Copy(io.Discard, conn); got > int64(n) || got == 0 {
		t.Errorf("%d bytes of %d arrived", got, n)
	}
}

// Thousands that connect and say nothing keep nobody else waiting.
func TestSilentClientsAreInNobodysWay(t *testing.T) {
	s := sink(t, answer)
	b := newBench(t, s)
	for range 2000 {
		b.dial()
	}
	if back := b.send(hello(sni("ok.test"))); back != answer {
		t.Errorf("answer %q", back)
	}
	if got := b.decisions(); len(got) != 1 {
		t.Errorf("recorded: %q", got)
	}
}

// Thousands of large hellos that never end would take gigabytes. Most are refused,
// small ones are not, and the places come back.
func TestAttackManyThatSayMuch(t *testing.T) {
	const many, places = 400, 256
	s := sink(t, answer)
	b := newBench(t, s)
	large := hello(sni("ok.test"), extension{21, make([]byte, 10000)})
	request := "GET / HTTP/1.1\r\nHost: ok.test\r\nX: " + strings.Repeat("y", 10000) + "\r\n\r\n"
	var conns []*net.TCPConn
	for i := range many {
		conn := b.dial()
		if _, err := io.WriteString(conn, []string{large, request}[i%2][:9000]); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	for deadline := time.Now().Add(limit); len(b.decisions()) < many-places; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d are refused, want %d", len(b.decisions()), many-places)
		}
	}
	if back := b.send(hello(sni("ok.test"))); back != answer {
		t.Errorf("a small hello: %q", back)
	}
	if back := b.send(large); back == answer {
		t.Error("there is no limit")
	}
	for _, conn := range conns {
		conn.Close()
	}
	for _, sent := range []string{large, request} {
		for deadline := time.Now().Add(limit); b.send(sent) != answer; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("no place came back")
			}
		}
	}
	for range places + 10 { // each gives its place back
		if back := b.send(request); back != answer {
			t.Fatalf("answer %q", back)
		}
	}
}

// Ten thousand connections rest, all of them work afterwards, those beyond the
// limit are told at once, and what they held is given back.
func TestTenThousandIdleConnections(t *testing.T) {
	y := newYard(t)
	y.client.ask("hold guard 200") // spare pipes, the log, the pool of threads
	y.client.ask("drop guard")
	before := y.settled(0)
	conns := manyConns(t)
	y.client.ask("hold guard %d", conns)
	held := y.state()
	if got := held.files - before.files; got > 2*conns+2*64 {
		t.Errorf("%d files for %d idle connections", got, conns)
	}
	if n := y.client.ask("touch guard"); n[0] != conns {
		t.Errorf("%d of %d connections still work", n[0], conns)
	}
	t.Logf("%d idle connections: %d MiB resident, %d bytes of heap and stacks each", conns, held.resident>>20, (held.bytes-before.bytes)/conns)
	y.client.ask("drop guard")
	y.settled(before.files)
}

// settled waits until the guard holds no connection, and at most so many files
// (0 = any number), and returns what it holds then.
func (y *yard) settled(files int) state {
	y.t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		s := y.state()
		if s.goroutines < 20 && (files == 0 || s.files <= files+2*64) {
			return s
		}
		if time.Now().After(deadline) {
			y.t.Fatalf("it does not come to rest: %+v", s)
		}
	}
}
