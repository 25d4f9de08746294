package guard_test

import (
	"io"
	"net"
	"strings"
	"testing"
)

// The figures compare a connection through the guard with the same one
// without it, over loopback, where the guard's own work shows most.
func routes(b *testing.B, s *site, run func(b *testing.B, addr string)) {
	b.Run("direct", func(b *testing.B) { run(b, s.addr.String()) })
	b.Run("guard", func(b *testing.B) { run(b, newBench(b, s).addr) })
}

// BenchmarkFirstByte is from connect to the first byte of the answer.
func BenchmarkFirstByte(b *testing.B) {
	greeting := []byte(hello(sni("ok.test")))
	s := newSite(b, func(_ *site, conn *net.TCPConn) {
		buf := make([]byte, len(greeting))
		if _, err := io.ReadFull(conn, buf); err == nil {
			_, _ = conn.Write(buf)
		}
	})
	routes(b, s, func(b *testing.B, addr string) {
		buf := make([]byte, 1)
		for b.Loop() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := conn.Write(greeting); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(conn, buf); err != nil {
				b.Fatal(err)
			}
			conn.Close()
		}
	})
}

// BenchmarkBulk is a download over one connection.
func BenchmarkBulk(b *testing.B) {
	greeting := hello(sni("ok.test"))
	const size = 64 << 20
	block := make([]byte, 256<<10)
	s := newSite(b, func(_ *site, conn *net.TCPConn) {
		if _, err := io.ReadFull(conn, make([]byte, len(greeting))); err != nil {
			return
		}
		for range size / len(block) {
			if _, err := conn.Write(block); err != nil {
				return
			}
		}
	})
	routes(b, s, func(b *testing.B, addr string) {
		b.SetBytes(size)
		buf := make([]byte, 256<<10)
		for b.Loop() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.WriteString(conn, greeting); err != nil {
				b.Fatal(err)
			}
			got := 0
			for {
				n, err := conn.Read(buf)
				got += n
				if err != nil {
					break
				}
			}
			conn.Close()
			if got != size {
				b.Fatalf("%d bytes of %d", got, size)
			}
		}
	})
}

// BenchmarkHTTPRequest is one request over a connection that is kept.
func BenchmarkHTTPRequest(b *testing.B) {
	const request = "GET /index.html HTTP/1.1\r\nHost: ok.test\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"
	reply := "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + strings.Repeat("x", 100)
	s := newSite(b, func(_ *site, conn *net.TCPConn) {
		buf := make([]byte, len(request))
		for {
			if _, err := io.ReadFull(conn, buf); err != nil {
				return
			}
			if _, err := io.WriteString(conn, reply); err != nil {
				return
			}
		}
	})
	routes(b, s, func(b *testing.B, addr string) {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		buf := make([]byte, len(reply))
		for b.Loop() {
			if _, err := io.WriteString(conn, request); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(conn, buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}
