package guard_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/guard"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/firewall/relay"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// opened is a guard that opens the TLS of ok.test, on the one port at which
// operations are judged, and leaves also.test sealed on the same address.
type opened struct {
	*bench
	trust *x509.CertPool // the sandbox's authority

	mu      sync.Mutex
	arrived []string
}

const opensOK = "https://ok.test GET /v1/**"

func openedPolicy(t testing.TB, allow ...string) *firewall.Policy {
	t.Helper()
	p, errs := firewall.NewPolicy(firewall.Network{Allow: allow, Private: []string{"ok.test", "also.test"}})
	if errs != nil {
		t.Fatal(errs)
	}
	return p
}

func newOpened(t testing.TB) *opened {
	t.Helper()
	// Tests of other trees run on this machine too: an address of our own.
	addr := netip.AddrFrom4([4]byte{127, 43, byte(rand.IntN(256)), byte(1 + rand.IntN(250))})
	l, err := net.Listen("tcp", netip.AddrPortFrom(addr, 443).String())
	if errors.Is(err, syscall.EACCES) {
		testenv.Missing(t, "root", "port 443 is the one at which operations are judged")
	}
	if err != nil {
		t.Fatal(err)
	}
	o := &opened{trust: x509.NewCertPool()}
	server := &http.Server{
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.arrived = append(o.arrived, r.Method+" "+r.Host+r.RequestURI)
		}),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate()}},
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	go func() { _ = server.ServeTLS(l, "", "") }()
	t.Cleanup(func() { server.Close() })
	roots := x509.NewCertPool()
	leaf, err := x509.ParseCertificate(certificate().Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(leaf)
	s := &site{addr: l.Addr().(*net.TCPAddr).AddrPort()}
	policy := openedPolicy(t, opensOK, "also.test")
	o.bench = newBench(t, s, func(opts *guard.Options) {
		opts.Policy = policy
		r := relay.New(relay.Options{
			Memory: operation.NewMemory(), Record: opts.Record,
			Roots:   func() (*x509.CertPool, error) { return roots, nil },
			Publish: func(pem []byte) error { o.trust.AppendCertsFromPEM(pem); return nil },
		})
		if err := r.SetHosts(policy.Operations().Hosts()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		opts.Relay = r.Serve
	})
	return o
}

func (o *opened) requests() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.arrived)
}

// client speaks to name through the guard and trusts the sandbox's authority alone.
func (o *opened) client(name string) *http.Client {
	tr := &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{RootCAs: o.trust, ServerName: name},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", o.addr)
		},
	}
	o.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: limit}
}

func (o *opened) get(c *http.Client, url string) int {
	o.t.Helper()
	res, err := c.Get(url)
	if err != nil {
		o.t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

func TestOpenedTLSIsJudgedByItsRequests(t *testing.T) {
	o := newOpened(t)
	c := o.client("ok.test")
	for url, want := range map[string]int{"https://ok.test/v1/a": 200, "https://ok.test/v2": 403, "https://also.test/v1/a": 421} {
		if got := o.get(c, url); got != want {
			t.Errorf("%s: %d, want %d", url, got, want)
		}
	}
	if got := o.requests(); !slices.Equal(got, []string{"GET ok.test/v1/a"}) {
		t.Errorf("arrived %q", got)
	}
	if n := len(o.server.Sources()); n != 2 { // one for each connection of the client, which made one for each name
		t.Errorf("the guard knows %d of its connections to the site", n)
	}
}

// TestASealedHostIsNotOpened would see the sandbox's certificate instead of the
// site's, which has no name in common with it.
func TestASealedHostIsNotOpened(t *testing.T) {
	o := newOpened(t)
	conn := tls.Client(o.dial(), &tls.Config{ServerName: "also.test", InsecureSkipVerify: true})
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	if got := conn.ConnectionState().PeerCertificates[0]; !slices.Equal(got.Raw, certificate().Certificate[0]) {
		t.Errorf("the certificate is %v's", got.Subject)
	}
}

// TestAttackOperationWithoutTLS asks in the clear, at the port where operations are
// judged: the site must hear nothing.
func TestAttackOperationWithoutTLS(t *testing.T) {
	o := newOpened(t)
	answer := o.send("GET /v1/a HTTP/1.1\r\nHost: ok.test\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 403 ") || !strings.Contains(answer, "by TLS only") {
		t.Errorf("%q", answer)
	}
}

// TestAttackOperationOnASealedConnection keeps a connection that began when the host
// was open as a whole, over a change to a list of operations; and the other way round.
func TestAttackOperationOnASealedConnection(t *testing.T) {
	o := newOpened(t)
	for _, step := range []struct{ before, after []string }{
		{[]string{"ok.test:443"}, []string{opensOK}}, {[]string{opensOK}, []string{"ok.test:443"}},
	} {
		t.Run(step.before[0], func(t *testing.T) {
			o.server.SetPolicy(openedPolicy(t, step.before...))
			conn := tls.Client(o.dial(), &tls.Config{ServerName: "ok.test", InsecureSkipVerify: true})
			if err := conn.Handshake(); err != nil {
				t.Fatal(err)
			}
			o.server.SetPolicy(openedPolicy(t, step.after...))
			if _, err := conn.Read(make([]byte, 1)); err == nil || isTimeout(err) {
				t.Errorf("the connection stands: %v", err)
			}
		})
	}
}

// addressOpen is a policy with an entry for the site's address, which is loopback here
// and so none of a real entry's.
type addressOpen struct{ *firewall.Policy }

func (addressOpen) Decide(string, netip.Addr, uint16, firewall.Proto) firewall.Decision {
	return firewall.Decision{Verdict: firewall.Allow}
}

// TestAttackOperationOnAConnectionByAddress keeps a connection that was open by its
// address, when entries begin to name operations at a host that has this address.
func TestAttackOperationOnAConnectionByAddress(t *testing.T) {
	o := newOpened(t)
	const other = "https://elsewhere.test GET /v1/**"
	o.server.SetPolicy(addressOpen{openedPolicy(t, other)})
	conn := tls.Client(o.dial(), &tls.Config{ServerName: "also.test", InsecureSkipVerify: true})
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	if got := conn.ConnectionState().PeerCertificates[0]; !slices.Equal(got.Raw, certificate().Certificate[0]) {
		t.Fatalf("the certificate is %v's", got.Subject)
	}
	o.server.SetPolicy(addressOpen{openedPolicy(t, other, opensOK)})
	if _, err := conn.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("the connection stands: %v", err)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// TestNewOperationsJudgeTheNextRequest keeps the connection.
func TestNewOperationsJudgeTheNextRequest(t *testing.T) {
	o := newOpened(t)
	c := o.client("ok.test")
	for i, step := range []struct {
		entry string
		want  int
	}{{opensOK, 200}, {"https://ok.test GET /v2/**", 403}, {opensOK, 200}} {
		o.server.SetPolicy(openedPolicy(t, step.entry))
		if got := o.get(c, fmt.Sprintf("https://ok.test/v1/%d", i)); got != step.want {
			t.Errorf("%s: %d, want %d", step.entry, got, step.want)
		}
	}
	if n := len(o.server.Sources()); n != 1 {
		t.Errorf("%d connections to the site", n)
	}
}

// TestAttackOperationAddressUnderDeny closes the address of a connection that rests.
func TestAttackOperationAddressUnderDeny(t *testing.T) {
	o := newOpened(t)
	conn := tls.Client(o.dial(), &tls.Config{ServerName: "ok.test", InsecureSkipVerify: true})
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	closed, errs := firewall.NewPolicy(firewall.Network{Allow: []string{opensOK}, Deny: []string{"127.43.0.0/16"},
		Private: []string{"ok.test"}})
	if errs != nil {
		t.Fatal(errs)
	}
	o.server.SetPolicy(closed)
	if _, err := conn.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("the connection stands: %v", err)
	}
	o.stop()
	if n := len(o.server.Sources()); n != 0 {
		t.Errorf("the guard knows %d connections to the site", n)
	}
}
