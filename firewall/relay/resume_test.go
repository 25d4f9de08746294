package relay_test

import (
	"crypto/tls"
	"io"
	"strings"
	"sync/atomic"
	"testing"
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
					ServerName: "ok.test", RootCAs: b.roots, NextProtos: []string{"http/1.1"}, MinVersion: version, MaxVersion: version, ClientSessionCache: cache,
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
