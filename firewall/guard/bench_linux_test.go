package guard_test

import (
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/netnstest"
)

// The figures compare a connection through the guard with the same one without
// it and, where it is installed, through Squid as a CONNECT proxy with an
// access list. Client, guard, Squid and site are processes; between the sites
// and the others lies a pair of virtual network cards.
//
// No real path has the rate of the memory: there each hop takes
// time of the cores that both ends need. So bulk is also measured over cards that
// carry 1 and 10 Gbit/s, which is what a machine has.
var ways = []string{"direct", "guard", "squid"}

// each runs f for each way there is.
func (y *yard) each(b *testing.B, f func(b *testing.B, way string, pid int)) {
	for _, way := range ways {
		b.Run(way, func(b *testing.B) {
			pid := y.guard.cmd.Process.Pid
			if way == "squid" {
				pid = (&yard{t: b, lab: y.lab}).startSquid()
			}
			y.client.t = b
			f(b, way, pid)
		})
	}
}

// BenchmarkConnect is from connect to the first byte of the answer, one
// connection at a time.
func BenchmarkConnect(b *testing.B) {
	y := newYard(b)
	y.each(b, func(b *testing.B, way string, _ int) {
		y.client.ask("latency %s 100", way) // caches fill
		b.ResetTimer()
		n := y.client.ask("latency %s %d", way, b.N)
		b.ReportMetric(float64(n[0])/1000, "µs-median")
		b.ReportMetric(float64(n[1])/1000, "µs-p99")
	})
}

// BenchmarkRate is how many connections a second are made, judged and ended,
// sixteen at a time.
func BenchmarkRate(b *testing.B) {
	y := newYard(b)
	y.each(b, func(b *testing.B, way string, _ int) {
		y.client.ask("latency %s 100", way)
		b.ResetTimer()
		n := y.client.ask("rate %s %d 16", way, b.N)
		b.ReportMetric(float64(b.N)*1e9/float64(n[0]), "conns/s")
	})
}

// BenchmarkUpload is like BenchmarkBulk, the other way.
func BenchmarkUpload(b *testing.B) {
	for _, path := range []string{"memory", "10gbit"} {
		b.Run(path, func(b *testing.B) {
			y := newYard(b)
			if path != "memory" {
				y.slow(y.lab.Sandbox, "eth0", path)
			}
			for _, way := range ways[:2] {
				b.Run(way, func(b *testing.B) {
					y.client.t = b
					b.SetBytes(bulkSize)
					for b.Loop() {
						y.client.ask("upload %s", way)
					}
				})
			}
		})
	}
}

// BenchmarkBulk is a download over one connection.
func BenchmarkBulk(b *testing.B) {
	for _, path := range []string{"memory", "memory-tls", "memory-opened", "1gbit", "1gbit-opened", "10gbit", "10gbit-tls", "10gbit-opened"} {
		b.Run(path, func(b *testing.B) {
			y, command := newYard(b), "bulk"
			rate, kind, _ := strings.Cut(path, "-")
			if kind != "" {
				command = kind
			}
			if rate != "memory" {
				y.slow(y.lab.Internet, "wire", rate)
			}
			y.each(b, func(b *testing.B, way string, _ int) {
				if kind == "opened" && way == "squid" {
					b.Skip("Squid opens no TLS here")
				}
				b.SetBytes(bulkSize)
				for b.Loop() {
					y.client.ask("%s %s", command, way)
				}
			})
		})
	}
}

// slow makes a card send so much and no more.
func (y *yard) slow(ns *netnstest.Namespace, card, rate string) {
	y.t.Helper()
	tc, err := exec.LookPath("tc")
	if err != nil {
		y.t.Skip("needs tc (Debian package iproute2)")
	}
	ns.Do(func() {
		out, err := exec.Command(tc, "qdisc", "add", "dev", card, "root", "tbf", "rate", rate, "burst", "512k", "latency",
			"20ms").CombinedOutput()
		if err != nil {
			y.t.Errorf("tc: %v: %s", err, out)
		}
	})
	if y.t.Failed() {
		y.t.FailNow()
	}
}

// BenchmarkMemory is what a process needs for ten thousand connections that
// have each said something and rest, or for as many as its files allow.
func BenchmarkMemory(b *testing.B) {
	conns := manyConns(b)
	y := newYard(b)
	for _, way := range ways[1:] {
		b.Run(way, func(b *testing.B) {
			pid := y.guard.cmd.Process.Pid
			if way == "squid" {
				pid = (&yard{t: b, lab: y.lab}).startSquid()
			}
			y.client.t = b
			for b.Loop() {
				y.client.ask("hold %s %d", way, conns)
				b.ReportMetric(float64(conns), "conns")
				b.ReportMetric(float64(resident(b, pid))/(1<<20), "MiB")
				y.client.ask("drop %s", way)
			}
		})
	}
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
	run := func(b *testing.B, addr string) {
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
	}
	b.Run("direct", func(b *testing.B) { run(b, s.addr.String()) })
	b.Run("guard", func(b *testing.B) { run(b, newBench(b, s).addr) })
}
