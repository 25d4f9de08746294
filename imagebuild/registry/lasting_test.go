package registry

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/internal/diag"
	reg "github.com/org/claude-sandbox/internal/test/registrytest"
)

// nameServer answers every question with one code.
func nameServer(t *testing.T, code dnsmessage.RCode) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil {
				continue
			}
			m = dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true, RCode: code},
				Questions: m.Questions}
			if answer, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// A fault that lasts is not repeated, and one that may pass is.
func TestHostsThatCannotBeReached(t *testing.T) {
	to := func(addr string) func(context.Context, string, string) (net.Conn, error) {
		return func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		}
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, c := range []struct {
		name  string
		dial  func(context.Context, string, string) (net.Conn, error)
		tries int
		hint  string
	}{
		{"nobody knows the name", (&net.Dialer{Resolver: nameServer(t, dnsmessage.RCodeNameError)}).DialContext, 1,
			"there is no host registry.test"},
		{"the name server has trouble", (&net.Dialer{Resolver: nameServer(t, dnsmessage.RCodeServerFailure)}).DialContext,
			attempts, "can be reached"},
		{"a certificate of nobody's", to(secure.Listener.Addr().String()), 1, "certificate"},
		{"no TLS", to(plain.Listener.Addr().String()), 1, "TLS"},
		{"nobody listens", to(closed.Addr().String()), attempts, "can be reached"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var pauses []time.Duration
			o := options(&pauses)
			o.Transport.(*http.Transport).DialContext = c.dial
			_, err := Dial(t.Context(), "registry.test/me/x", false, nil, o)
			if err == nil {
				t.Fatal("logged in")
			}
			if len(pauses) != c.tries-1 {
				t.Errorf("tried %d times, want %d: %v", len(pauses)+1, c.tries, err)
			}
			if hint := diag.HintOf(err); !strings.Contains(hint, c.hint) {
				t.Errorf("the hint is %q, want %q in it; the error is %v", hint, c.hint, err)
			}
		})
	}
}

// Registries refuse a malformed digest with the code that they send for a
// moment of one that is under way.
func TestMalformedReferencesAreNotSent(t *testing.T) {
	f := reg.StartFaulty(t)
	f.Set(reg.Times(1<<30, reg.Request("", "/manifests/"), reg.Answer(400, nil, `{"errors":[{"code":"DIGEST_INVALID"}]}`)))
	var pauses []time.Duration
	c := dial(t, f.Addr+"/me/x", options(&pauses))
	before := c.Requests()
	for _, ref := range []string{"sha256:abc", "sha256:" + strings.Repeat("g", 64), "sha512:abc", "a tag", strings.Repeat("a", 129), ""} {
		_, _, err := c.Manifest(t.Context(), ref)
		_, headErr := c.Head(t.Context(), ref)
		for _, err := range []error{err, headErr} {
			if !errors.Is(err, ErrName) || diag.HintOf(err) == "" {
				t.Errorf("%q: %v, hint %q", ref, err, diag.HintOf(err))
			}
		}
	}
	if len(pauses) > 0 || c.Requests() != before {
		t.Errorf("%d pauses, %d requests", len(pauses), c.Requests()-before)
	}
}

// A registry that keeps the digest for those who read the manifest is asked
// for that, and not seven times for the header.
func TestADigestWithoutItsHeader(t *testing.T) {
	f := reg.StartFaulty(t)
	a := sample(t, 1)
	if _, err := Push(t.Context(), dial(t, f.Real+"/me/x", options(nil)), a, pushOptions(t, a)); err != nil {
		t.Fatal(err)
	}
	f.Set(reg.Times(1<<30, reg.Request("HEAD", "/manifests/"), reg.Change(func(h http.Header, body []byte) []byte {
		h.Del("Docker-Content-Digest")
		return body
	})))
	var pauses []time.Duration
	got, err := dial(t, f.Addr+"/me/x", options(&pauses)).Head(t.Context(), "latest")
	if err != nil || got != a.Index.Digest || len(pauses) > 0 {
		t.Errorf("%v %v after %d pauses, want %v", got, err, len(pauses), a.Index.Digest)
	}
}
