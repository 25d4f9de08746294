package guard_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/guard"
)

// limit bounds every wait of a test that would otherwise hang.
const limit = 20 * time.Second

// names is a fixed zone. ok.test and also.test are on the policy's list, and
// evil.test is not; all of them are on one address.
type names struct{ addr netip.Addr }

func (n names) Addresses(_ context.Context, name string, _ netip.Addr) []netip.Addr {
	switch name {
	case "ok.test", "also.test", "evil.test":
		return []netip.Addr{n.addr}
	case "elsewhere.test":
		return []netip.Addr{netip.MustParseAddr("127.0.0.99")}
	}
	return nil
}

func (names) Aliases(string) []string { return nil }

func (n names) NamesAt(addr netip.Addr) []string {
	if addr != n.addr {
		return nil
	}
	return []string{"ok.test", "also.test", "evil.test"}
}

// site is the destination: it takes down what arrives, byte for byte, and
// answers as its handler says.
type site struct {
	addr netip.AddrPort

	mu       sync.Mutex
	arrived  bytes.Buffer
	accepted int
}

func newSite(t testing.TB, handle func(s *site, conn *net.TCPConn)) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &site{addr: l.Addr().(*net.TCPAddr).AddrPort()}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.accepted++
			s.mu.Unlock()
			go func() {
				defer conn.Close()
				handle(s, conn.(*net.TCPConn))
			}()
		}
	}()
	return s
}

// answer is what a site says first, in TLS: the begin of a ServerHello.
var answer = string(record(22, append([]byte{2}, vector(3, make([]byte, 70))...)))

// sink is a site that takes everything down and ends when the client does. It
// says greeting first.
func sink(t testing.TB, greeting string) *site {
	return newSite(t, func(s *site, conn *net.TCPConn) {
		_, _ = io.WriteString(conn, greeting)
		_, _ = io.Copy(s, conn)
	})
}

func (s *site) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrived.Write(b)
}

func (s *site) bytes() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrived.String()
}

func (s *site) conns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// bench is a guard in front of a site.
type bench struct {
	t       testing.TB
	addr    string
	server  *guard.Server
	mu      sync.Mutex
	records []audit.Record
	ended   chan struct{}
	cancel  func()
}

func policyFor(t testing.TB, s *site, network firewall.Network) *firewall.Policy {
	t.Helper()
	for i := range network.Allow {
		network.Allow[i] += fmt.Sprintf(":%d", s.addr.Port())
	}
	network.Private = []string{"ok.test", "also.test", "elsewhere.test"}
	p, errs := firewall.NewPolicy(network)
	if errs != nil {
		t.Fatal(errs)
	}
	return p
}

func newBench(t testing.TB, s *site, change ...func(*guard.Options)) *bench {
	t.Helper()
	b := &bench{t: t, ended: make(chan struct{})}
	opts := guard.Options{
		Policy: policyFor(t, s, firewall.Network{Allow: []string{"ok.test", "also.test", "elsewhere.test"}}),
		Names:  names{s.addr.Addr()},
		Record: func(r audit.Record) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.records = append(b.records, r)
			return nil
		},
		Destination: func(*net.TCPConn) (netip.AddrPort, error) { return s.addr, nil },
	}
	for _, f := range change {
		f(&opts)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.addr = l.Addr().String()
	b.server = guard.New(opts)
	var ctx context.Context
	ctx, b.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(b.ended)
		if err := b.server.Serve(ctx, l); err != nil {
			t.Errorf("Serve: %v", err)
		}
	}()
	t.Cleanup(b.stop)
	return b
}

// stop ends the guard and returns when all is recorded.
func (b *bench) stop() {
	b.t.Helper()
	b.cancel()
	select {
	case <-b.ended:
	case <-time.After(limit):
		b.t.Error("the guard does not end")
	}
}

func (b *bench) dial() *net.TCPConn {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.addr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		b.t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// send writes all pieces, ends its own direction and returns what comes back
// until the end. Errors of writing and reading only mean that the guard cut
// the connection.
func (b *bench) send(pieces ...string) string {
	b.t.Helper()
	conn := b.dial()
	_ = conn.SetNoDelay(true)
	for _, p := range pieces {
		if _, err := io.WriteString(conn, p); err != nil {
			break
		}
	}
	_ = conn.CloseWrite()
	back, _ := io.ReadAll(conn)
	return string(back)
}

// decisions returns the records as "verdict layer name".
func (b *bench) decisions() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, r := range b.records {
		out = append(out, fmt.Sprintf("%s %s %s", r.Verdict, r.Layer, r.Name))
	}
	return out
}

// certificate is a self-signed one for ok.test and evil.test.
var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"ok.test", "evil.test"}}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})
