package relay_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall/credential"
)

// Connections of every kind and end leave nothing behind: no goroutine of the relay's and
// none of a connection to the host, also where the keys' process makes it.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Run("relay", func(t *testing.T) { testNothingIsLeftBehind(t, false) })
	t.Run("keyed", func(t *testing.T) { testNothingIsLeftBehind(t, true) })
}

func testNothingIsLeftBehind(t *testing.T, keyed bool) {
	before := runtime.NumGoroutine()
	for _, protocol := range protocols() {
		h := newHost(t, []string{protocol}, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Upgrade") == "" {
				_, _ = io.Copy(w, io.LimitReader(endless{}, 1<<20))
				return
			}
			conn, both, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: "+rightAnswer+"\r\n\r\n")
			_, _ = io.Copy(conn, both)
		})
		b := newBox(t, h, usual, webSocketEntry)
		// The listeners and servers of host, box and relay stay until the test's end.
		standing := 8
		if keyed {
			b.withKeys(map[string]string{"K": canary}, credential.Binding{Name: "K", For: "https://ok.test"})
			standing += 10 // both ends of the tunnel, and the server behind it
		}
		ends := []func(){
			func() { // whole, and refused
				c := b.client(protocol)
				ask(t, c, http.MethodPost, "https://ok.test/v1/a", strings.NewReader("x"))
				ask(t, c, http.MethodGet, "https://ok.test"+secret, nil)
				c.CloseIdleConnections()
			},
			func() { // the client leaves in the middle of a response
				c := b.client(protocol)
				if res, err := c.Get("https://ok.test/v1/a"); err == nil {
					_, _ = io.ReadFull(res.Body, make([]byte, 1000))
					res.Body.Close()
				}
				c.CloseIdleConnections()
			},
			func() { // in the middle of a hello
				if c, err := net.Dial("tcp", b.addr); err == nil {
					_, _ = io.WriteString(c, "\x16\x03\x01\x02\x00\x01")
					c.Close()
				}
			},
			func() { // behind the handshake
				b.dial(protocol).Close()
			},
			func() { // of a WebSocket
				if protocol == "h2" {
					return
				}
				c := b.dial(protocol)
				_, _ = io.WriteString(c, "GET /ws/a HTTP/1.1\r\n"+askForWebSocket+"\r\n")
				_, _ = bufio.NewReader(c).ReadString('\n')
				c.Close()
			},
		}
		for range 10 {
			for _, end := range ends {
				end()
			}
		}
		for until := time.Now().Add(limit); runtime.NumGoroutine() > before+standing; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(until) {
				stacks := make([]byte, 1<<20)
				t.Fatalf("%s: %d goroutines, %d before\n%s", protocol, runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
			}
		}
		before = runtime.NumGoroutine()
	}
}

// endless is a body that does not end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
