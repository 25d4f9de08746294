package relay_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// tickets counts what a client could resume a session with.
type tickets struct {
	tls.ClientSessionCache
	put atomic.Int64
}

func (c *tickets) Put(key string, state *tls.ClientSessionState) {
	if state != nil {
		c.put.Add(1)
	}
	c.ClientSessionCache.Put(key, state)
}

// Attack: words that come before the handshake ends, as those of a resumed session may
// (RFC 8446 section 2.3): they could be sent again, to be judged by other rules. Without a
// ticket there is no such session.
func TestAttackOperationEarlyData(t *testing.T) {
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, []string{"http/1.1"}, nil)
			b := newBox(t, h)
			cache := &tickets{ClientSessionCache: tls.NewLRUClientSessionCache(8)}
			for range 2 {
				conn, err := tls.Dial("tcp", b.addr, &tls.Config{
					ServerName: "ok.test", RootCAs: b.roots, NextProtos: []string{"http/1.1"}, MinVersion: version, MaxVersion: version,
					ClientSessionCache: cache,
				})
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.WriteString(conn, lastRequest)
				answer, _ := io.ReadAll(conn) // a ticket would be in front of the answer
				if conn.Close(); !strings.HasPrefix(string(answer), "HTTP/1.1 200 ") || conn.ConnectionState().DidResume {
					t.Errorf("resumed: %v, %q", conn.ConnectionState().DidResume, answer)
				}
			}
			if n := cache.put.Load(); n > 0 {
				t.Errorf("%d tickets", n)
			}
		})
	}
}

// Attack: a program begins a second handshake inside the first, behind which others may speak
// (RFC 5746). The connection ends, and nothing that comes behind it arrives.
func TestAttackOperationSecondHandshake(t *testing.T) {
	h := newHost(t, []string{"http/1.1"}, nil)
	b := newBox(t, h)
	trust := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(trust, []byte(strings.Join(b.published, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, again := range []bool{false, true} {
		before := len(h.requests())
		cmd := exec.CommandContext(t.Context(), testenv.Program(t, "openssl"), "s_client", "-connect", b.addr,
			"-servername", "ok.test", "-tls1_2",
			"-CAfile", trust, "-verify_return_error", "-alpn", "http/1.1")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = cmd.Stdout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		if again { // s_client looks for the letter at the beginning of what it reads at once
			_, _ = io.WriteString(stdin, "R\n")
			for lines := bufio.NewScanner(stdout); !strings.Contains(said.String(), "RENEGOTIATING") && lines.Scan(); {
				said.WriteString(lines.Text() + "\n")
			}
		}
		_, _ = io.WriteString(stdin, lastRequest)
		_, _ = io.Copy(&said, stdout) // the end of the connection ends it
		_ = cmd.Wait()
		if got := len(h.requests()) - before; got == 1 == again || again && !strings.Contains(said.String(), "RENEGOTIATING") {
			t.Errorf("again %v: %d requests arrived\n%s", again, got, said.String())
		}
	}
}
