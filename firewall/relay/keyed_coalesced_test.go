package relay_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/firewall/credential"
)

// Attack: a client may ask over one connection for every name of its certificate (RFC 9113
// section 9.1.1). Here the host's certificate is good for two names, each with a key of
// its own. Over a connection to the one, the key of the other goes with no request, neither
// for the agent nor for a firewall that judges nothing and speaks to the keys' process itself.
func TestAttackKeyOfAnotherNameOfTheCertificate(t *testing.T) {
	const theirs = "canary-of-the-other-5b1d"
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var came []string
			h := newHost(t, []string{protocol}, func(_ http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				came = append(came, fmt.Sprintf("%s %s %s", r.Host, r.URL.Path, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
			}, "ok.test", "other.test")
			b := newBox(t, h, "https://ok.test GET /v1/**", "https://other.test GET /v1/**")
			k := b.withKeys(map[string]string{"ours": canary, "theirs": theirs},
				credential.Binding{Name: "ours", For: "https://ok.test"}, credential.Binding{Name: "theirs", For: "https://other.test"})
			arrived := func(want ...string) {
				t.Helper()
				mu.Lock()
				defer mu.Unlock()
				if !slices.Equal(came, want) {
					t.Errorf("came %q, want %q", came, want)
				}
				came = nil
			}
			askAll(t, protocol, b.dial(protocol), "ok.test", "other.test", "other.test:443", "OTHER.test", "ok.test")
			arrived("ok.test /v1/0 "+canary, "ok.test /v1/4 "+canary)

			conn, chosen, err := k.process.Connect(t.Context(), "ok.test", 443, []string{protocol}, func(ctx context.Context) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", h.addr)
			})
			if err != nil || chosen != protocol {
				t.Fatal(chosen, err)
			}
			defer conn.Close()
			askAll(t, protocol, conn, "ok.test", "other.test", "other.test:443", "OTHER.test", "ok.test")
			arrived("ok.test /v1/0 "+canary, "ok.test /v1/4 "+canary)
		})
	}
}

// askAll sends a request for each authority over one connection, and waits for its answer.
func askAll(t *testing.T, protocol string, conn io.ReadWriter, authorities ...string) {
	t.Helper()
	if protocol == "h2" {
		f := newFrames(t, conn)
		for i, authority := range authorities {
			if err := f.head(uint32(2*i+1), true, ":method: GET", ":scheme: https", ":authority: "+authority,
				fmt.Sprintf(":path: /v1/%d", i)); err != nil {
				t.Fatal(err)
			}
			if f.settle(1) != 1 {
				t.Fatalf("%s has no answer", authority)
			}
		}
		return
	}
	answers := bufio.NewReader(conn)
	for i, authority := range authorities {
		if _, err := fmt.Fprintf(conn, "GET /v1/%d HTTP/1.1\r\nHost: %s\r\n\r\n", i, authority); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(authority, err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
}
