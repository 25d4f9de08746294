package guard_test

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// openFiles counts the files of this process.
func openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// An idle connection costs its two sockets and no pipe, and none is left when
// it has ended.
func TestIdleConnectionsHoldNoPipes(t *testing.T) {
	s := newSite(t, func(_ *site, conn *net.TCPConn) { _, _ = io.Copy(io.Discard, io.TeeReader(conn, conn)) })
	b := newBench(t, s)
	const conns, spare = 500, 64
	before := openFiles(t)
	var clients []*net.TCPConn
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	for range conns {
		conn := b.dial()
		clients = append(clients, conn)
		sent := hello(sni("ok.test")) + strings.Repeat("x", 100)
		if _, err := io.WriteString(conn, sent); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, len(sent))); err != nil {
			t.Fatal(err)
		}
	}
	// The client's and the site's sockets are in this process too.
	if got := openFiles(t) - before; got > 4*conns+2*spare+20 {
		t.Errorf("%d files for %d idle connections, want 4 each and at most %d pipes in all", got, conns, spare)
	}
	runtime.GC()
	runtime.ReadMemStats(&end)
	t.Logf("%d bytes of heap and stack for each connection, both ends included",
		(int64(end.HeapInuse+end.StackInuse)-int64(start.HeapInuse+start.StackInuse))/conns)
	for _, conn := range clients {
		conn.Close()
	}
	for deadline := time.Now().Add(limit); openFiles(t) > before+2*spare+20; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d files are left of %d at the beginning", openFiles(t), before)
		}
	}
}

// A stream that was cut off must not look whole.
func TestResetIsPassedOn(t *testing.T) {
	greeting := hello(sni("ok.test"))
	s := newSite(t, func(_ *site, conn *net.TCPConn) {
		_, _ = io.ReadFull(conn, make([]byte, len(greeting)))
		_, _ = io.WriteString(conn, answer)
		_, _ = io.ReadFull(conn, make([]byte, 1))
		_ = conn.SetLinger(0)
	})
	b := newBench(t, s)
	conn := b.dial()
	if _, err := io.WriteString(conn, greeting); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, len(answer))); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(record(23, []byte{7})); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read %d bytes, %v, want a reset", n, err)
	}
}

// Each side may end in its own time.
func TestHalfCloseIsPassedOn(t *testing.T) {
	for name, greeting := range map[string]string{
		"TLS":  hello(sni("ok.test")),
		"HTTP": "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 5\r\n\r\nhello",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(s *site, conn *net.TCPConn) {
				_, _ = io.WriteString(conn, answer)
				_, _ = io.Copy(s, conn) // until the client's end
				_, _ = conn.Write([]byte("last"))
			})
			b := newBench(t, s)
			if back := b.send(greeting); back != answer+"last" {
				t.Errorf("answer %q", back)
			}
			if s.bytes() != greeting {
				t.Errorf("arrived %q", s.bytes())
			}
		})
	}
}

// A server that ends first can still be told more.
func TestServerMayEndFirst(t *testing.T) {
	for name, greeting := range map[string]string{
		"TLS":  hello(sni("ok.test")),
		"HTTP": "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 10\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			heard := make(chan struct{})
			s := newSite(t, func(s *site, conn *net.TCPConn) {
				defer close(heard)
				_, _ = io.CopyN(s, conn, int64(len(greeting)))
				_, _ = io.WriteString(conn, answer)
				_ = conn.CloseWrite()
				_, _ = io.Copy(s, conn)
			})
			b := newBench(t, s)
			conn := b.dial()
			if _, err := io.WriteString(conn, greeting); err != nil {
				t.Fatal(err)
			}
			if back, err := io.ReadAll(conn); err != nil || string(back) != answer {
				t.Errorf("got %q, %v", back, err)
			}
			if _, err := io.WriteString(conn, "\x17ten bytes"); err != nil {
				t.Fatal(err)
			}
			_ = conn.CloseWrite()
			<-heard
			if want := greeting + "\x17ten bytes"; s.bytes() != want {
				t.Errorf("arrived %q, want %q", s.bytes(), want)
			}
		})
	}
}

// A reply can come before the request's end, and is not held back.
func TestContinueBeforeTheBody(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
	s := newSite(t, func(s *site, conn *net.TCPConn) {
		_, _ = io.CopyN(s, conn, int64(len(head)))
		_, _ = io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
		_, _ = io.Copy(s, conn)
	})
	b := newBench(t, s)
	conn := b.dial()
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "body"); err != nil {
		t.Fatal(err)
	}
	_ = conn.CloseWrite()
	_, _ = io.ReadAll(conn)
	if s.bytes() != head+"body" {
		t.Errorf("arrived %q", s.bytes())
	}
}
