package kernel_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

var benchNetwork = firewall.Network{Presets: []string{"anthropic", "github"}, Allow: []string{allowed + ":443", "[" + allowed6 + "]:443"}}

// BenchmarkUp is what a start of the sandbox waits for: open (which closes), apply,
// verify, in a fresh namespace.
func BenchmarkUp(b *testing.B) {
	for _, backend := range []kernel.Backend{kernel.NFT, kernel.Legacy} {
		b.Run(string(backend), func(b *testing.B) {
			testenv.Program(b, "iptables-"+string(backend)+"-restore")
			for b.Loop() {
				b.StopTimer()
				fresh := &bench{Lab: netnstest.New(b), t: b}
				b.StartTimer()
				var err error
				fresh.Sandbox.Do(func() {
					fresh.k, err = kernel.OpenBackend(context.Background(), backend)
				})
				if err != nil {
					b.Fatal(err)
				}
				plan := fresh.plan(benchNetwork)
				fresh.apply(plan)
				if err := fresh.verify(plan); err != nil {
					b.Fatal(err)
				}
				fresh.k.Close()
			}
		})
	}
}

func BenchmarkApply(b *testing.B) {
	s := newBench(b, "")
	plan := s.plan(benchNetwork)
	for b.Loop() {
		s.apply(plan)
	}
}

func BenchmarkVerify(b *testing.B) {
	s := newBench(b, "")
	plan := s.plan(benchNetwork)
	s.apply(plan)
	for b.Loop() {
		if err := s.verify(plan); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAllow is what an answer waits for: an address on both of the web's
// ports.
func BenchmarkAllow(b *testing.B) {
	s := newBench(b, "")
	s.apply(s.plan(benchNetwork))
	ports := []firewall.Port{{Number: 443, Proto: firewall.TCP}, {Number: 80, Proto: firewall.TCP}}
	for i := 0; b.Loop(); i++ {
		addr := netip.AddrFrom4([4]byte{203, 0, byte(i >> 8 & 0x3f), byte(i)}) // a set holds 65,536 elements
		if err := s.k.Allow(addr, ports, time.Hour); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(ports))/b.Elapsed().Seconds(), "elements/s")
}
