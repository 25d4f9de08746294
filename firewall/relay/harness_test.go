package relay_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/firewall/relay"
)

// limit bounds every wait of a test that would otherwise hang.
const limit = 20 * time.Second

// world certifies the hosts of tests, as public authorities do.
var world = sync.OnceValue(func() (w struct {
	pool *x509.CertPool
	root []byte // its certificate, as PEM
	host func(names ...string) tls.Certificate
}) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, root, root, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	if root, err = x509.ParseCertificate(der); err != nil {
		panic(err)
	}
	w.pool = x509.NewCertPool()
	w.pool.AddCert(root)
	w.root = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	w.host = func(names ...string) tls.Certificate {
		template := &x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), DNSNames: names}
		der, err := x509.CreateCertificate(rand.Reader, template, root, &key.PublicKey, key)
		if err != nil {
			panic(err)
		}
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	}
	return w
})

// host is the site: it takes down each request as it understood it, and in
// HTTP/1.1 every byte.
type host struct {
	addr    string
	handler http.HandlerFunc
	server  *http.Server // nil for a host in another process
	conns   atomic.Int64 // that it accepted

	mu       sync.Mutex
	arrived  []string // "GET /v1/a ok.test body"
	raw      bytes.Buffer
	protocol string // of the last connection
}

// newHost serves names with the protocols; handle, unless nil, answers in its place.
func newHost(t testing.TB, protocols []string, handle http.HandlerFunc, names ...string) *host {
	t.Helper()
	if names == nil {
		names = []string{"ok.test"}
	}
	h := &host{handler: handle}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.addr = l.Addr().String()
	config := &tls.Config{Certificates: []tls.Certificate{world().host(names...)}, NextProtos: protocols}
	h.server = &http.Server{Handler: h, ErrorLog: quiet, TLSConfig: config}
	go func() { _ = h.server.Serve(&tap{Listener: l, host: h, config: config}) }()
	t.Cleanup(func() { h.server.Close() })
	return h
}

// tap hands HTTP/1.1 connections on with every byte taken down.
type tap struct {
	net.Listener
	host   *host
	config *tls.Config
}

func (l *tap) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.host.conns.Add(1)
		conn := tls.Server(c, l.config)
		_ = c.SetDeadline(time.Now().Add(limit))
		if conn.Handshake() != nil {
			c.Close()
			continue
		}
		_ = c.SetDeadline(time.Time{})
		protocol := conn.ConnectionState().NegotiatedProtocol
		l.host.mu.Lock()
		l.host.protocol = protocol
		l.host.mu.Unlock()
		if protocol == "h2" {
			return conn, nil
		}
		return &tapped{conn, l.host}, nil
	}
}

type tapped struct {
	net.Conn
	host *host
}

func (c *tapped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	if c.host.raw.Len() < 1<<20 {
		c.host.raw.Write(p[:n])
	}
	return n, err
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.handler != nil {
		h.note(r, "")
		h.handler(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h.note(r, string(body))
	fmt.Fprintf(w, "%s %s %s %d", r.Method, r.RequestURI, r.Host, len(body))
}

func (h *host) note(r *http.Request, body string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.arrived = append(h.arrived, fmt.Sprintf("%s %s %s %s", r.Method, r.RequestURI, r.Host, body))
}

func (h *host) requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.arrived)
}

func (h *host) bytes() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.raw.String()
}

// box is a relay with a client in front and a host behind.
type box struct {
	t     testing.TB
	addr  string
	relay *relay.Relay
	roots *x509.CertPool // the sandbox's authorities

	name      string         // of the host
	dst       netip.AddrPort // that its connections are for
	entries   []string
	published []string

	mu      sync.Mutex
	rules   *operation.Rules
	audit   bool
	records []audit.Record
	full    bool // the log takes nothing
	serving sync.WaitGroup
}

// usual is what most tests allow.
const usual = "https://ok.test GET,POST,HEAD /v1/**"

func compile(t testing.TB, entries ...string) *operation.Rules {
	t.Helper()
	rules, problems := operation.Compile(entries)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return rules
}

// newBox relays to h what entries allow. Clients name their host by SNI.
func newBox(t testing.TB, h *host, entries ...string) *box {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if entries == nil {
		entries = []string{usual}
	}
	return newBoxAt(t, l, h, "ok.test", netip.MustParseAddrPort("192.0.2.1:443"), entries...)
}

// newBoxAt is newBox for clients that find the host by a name and port of their own.
func newBoxAt(t testing.TB, l net.Listener, h *host, name string, dst netip.AddrPort, entries ...string) *box {
	t.Helper()
	b := &box{t: t, name: name, dst: dst, entries: entries, rules: compile(t, entries...), roots: x509.NewCertPool()}
	b.relay = relay.New(relay.Options{
		Memory: operation.NewMemory(), Record: b.record,
		Roots: func() (*x509.CertPool, error) { return world().pool, nil },
		Publish: func(certificates []byte) error {
			b.published = append(b.published, string(certificates))
			b.roots.AppendCertsFromPEM(certificates)
			return nil
		},
	})
	if err := b.relay.SetHosts(b.rules.Hosts()); err != nil {
		t.Fatal(err)
	}
	b.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.serving.Go(func() { b.relay.Serve(ctx, b.connection(c, h)) })
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-accepting
		cancel()
		b.relay.Close()
		b.serving.Wait()
	})
	return b
}

// withKeys has a process of its own add keys, as a run does.
func (b *box) withKeys(values map[string]string, bindings ...credential.Binding) *keyed {
	b.t.Helper()
	used, unused, err := credential.Bind(bindings, b.entries)
	if err != nil || len(unused) > 0 {
		b.t.Fatal(unused, err)
	}
	keys, err := credential.Fill(used, values)
	if err != nil {
		b.t.Fatal(err)
	}
	k := &keyed{}
	server := relay.NewKeyServer(keys, func() (*x509.CertPool, error) { return world().pool, nil }, k.note)
	inside, outside := net.Pipe()
	k.inside = &tee{Conn: inside}
	ended := make(chan struct{})
	go func() { server.Serve(outside); close(ended) }()
	process := relay.NewKeysProcess(k.inside, keys.Hosts())
	k.process = process
	b.relay.SetKeysProcess(process)
	b.t.Cleanup(func() {
		process.Close()
		<-ended
		server.Close()
	})
	return k
}

// keyed is the process that holds keys.
type keyed struct {
	inside  *tee
	process *relay.KeysProcess // the firewall's end
	mu      sync.Mutex
	used    []string
}

func (k *keyed) note(name, _, operation string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used = append(k.used, name+": "+operation)
}

// tee keeps what the firewall's side of the tunnel saw, as far as most.
type tee struct {
	net.Conn
	mu   sync.Mutex
	seen bytes.Buffer
}

// most is more than any test but a benchmark moves, in bytes.
const most = 8 << 20

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen.Write(p[:max(0, min(n, most-t.seen.Len()))])
	return n, err
}

func (t *tee) saw() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen.String()
}

func (b *box) connection(c net.Conn, h *host) relay.Connection {
	return relay.Connection{
		Client: c, Name: b.name, Src: c.RemoteAddr().(*net.TCPAddr).AddrPort(), Dst: b.dst,
		Dial: func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", h.addr)
		},
		Rules: func() (*operation.Rules, bool) {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.rules, b.audit
		},
	}
}

func (b *box) record(r audit.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.full {
		return errors.New("no room")
	}
	b.records = append(b.records, r)
	return nil
}

// recorded returns the records as "verdict layer reason".
func (b *box) recorded() (out []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.records {
		out = append(out, fmt.Sprintf("%s %s %s", r.Verdict, r.Layer, r.Why()))
	}
	return out
}

// dial opens TLS to the relay with the protocols that a client offers.
func (b *box) dial(protocols ...string) *tls.Conn {
	b.t.Helper()
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: limit}, "tcp", b.addr,
		&tls.Config{ServerName: "ok.test", RootCAs: b.roots, NextProtos: protocols})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(limit))
	return conn
}

// client is net/http's own, in HTTP/1.1 or HTTP/2.
func (b *box) client(protocol string) *http.Client {
	transport := &http.Transport{
		Protocols:       new(http.Protocols),
		TLSClientConfig: &tls.Config{RootCAs: b.roots},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", b.addr)
		},
	}
	transport.Protocols.SetHTTP1(protocol != "h2")
	transport.Protocols.SetHTTP2(protocol == "h2")
	b.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: limit, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

func protocols() []string { return []string{"http/1.1", "h2"} }
