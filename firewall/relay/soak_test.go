package relay_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/firewall/relay"
)

// Connections of every kind and end, many at a time, leave nothing behind: no goroutine of
// the relay's, no connection to the host, and no memory that grows with their number, also
// where the keys' process makes the connections.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Run("relay", func(t *testing.T) { testNothingIsLeftBehind(t, false) })
	t.Run("keyed", func(t *testing.T) { testNothingIsLeftBehind(t, true) })
}

func testNothingIsLeftBehind(t *testing.T, keyed bool) {
	const clients, rounds = 8, 6
	before := footprint(t)
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
			_, _ = io.WriteString(conn,
				"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: "+rightAnswer+"\r\n\r\n")
			_, _ = io.Copy(conn, both)
		})
		b := newBox(t, h, usual, webSocketEntry)
		// The listeners and servers of host, box and relay stay until the test's end, and so
		// does what a pool of buffers keeps.
		standing := traces{goroutines: 8, files: 4, heap: 16 << 20}
		if keyed {
			b.withKeys(map[string]string{"K": canary}, credential.Binding{Name: "K", For: "https://ok.test"})
			standing.goroutines += 10 + 2*clients // both ends of the tunnel, the server behind it, and its idle connections
			standing.files += 2 + clients
			standing.heap += 256 << 20 // the test keeps what it hears on the way
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
		var load sync.WaitGroup
		for range clients {
			load.Go(func() {
				for range rounds {
					for _, end := range ends {
						end()
					}
				}
			})
		}
		load.Wait()
		var now traces
		for until := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
			if now = footprint(t); !now.exceeds(before, standing) {
				break
			}
			if time.Now().After(until) {
				stacks := make([]byte, 1<<20)
				t.Fatalf("%s: %+v, %+v before\n%s", protocol, now, before, stacks[:runtime.Stack(stacks, true)])
			}
		}
		before = now
	}
}

// traces are what a process holds.
type traces struct {
	goroutines, files int
	heap              uint64 // bytes in use
}

func footprint(t *testing.T) traces {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil && runtime.GOOS == "linux" {
		t.Fatal(err)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return traces{runtime.NumGoroutine(), len(files), m.HeapInuse}
}

// exceeds reports whether there is more than there was, by more than a margin.
func (x traces) exceeds(before, margin traces) bool {
	return x.goroutines > before.goroutines+margin.goroutines || x.files > before.files+margin.files || x.heap > before.heap+margin.heap
}

// endless is a body that does not end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// Attack: bodies that a judge must read whole, on many streams, none of which ends. They hold
// no more than their room, and the requests of others are judged when they are gone.
func TestAttackOperationBodiesThatDoNotEnd(t *testing.T) {
	const streams, size = 190, 256<<10 + 1 // a judge holds twice as much of each, 95 MiB of 64
	h := newHost(t, []string{"h2"}, nil)
	b := newBox(t, h, "github:ok.test/acme/app issues.comment", usual)
	c := b.client("h2")
	c.Timeout = 0 // the race detector needs half a minute for this on a busy machine
	ask := func(ctx context.Context, body io.Reader, end func()) int {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://ok.test/api/graphql", body)
		if err != nil {
			t.Error(err)
			return 0
		}
		res, err := c.Do(req)
		if err != nil {
			return 0
		}
		end() // Close waits for who reads the request's body
		res.Body.Close()
		return res.StatusCode
	}
	honest := func() int { return ask(t.Context(), strings.NewReader(`{"query":"{ viewer { login } }"}`), func() {}) }
	if status := honest(); status != http.StatusOK { // it makes the connection to the host
		t.Fatal(status)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*limit)
	defer cancel()
	answers := make(chan int, streams)
	var open sync.WaitGroup
	for range streams {
		open.Go(func() {
			never, end := io.Pipe()
			defer context.AfterFunc(ctx, func() { end.CloseWithError(ctx.Err()) })()
			answers <- ask(ctx, io.MultiReader(io.LimitReader(endless{}, size), never), func() { end.Close() })
		})
	}
	if status := <-answers; status != http.StatusForbidden ||
		!strings.Contains(strings.Join(b.recorded(), "\n"), operation.ErrNoRoom.Error()) {
		t.Errorf("answered %d, recorded %q", status, b.recorded())
	}
	cancel()
	open.Wait()
	for began := time.Now(); honest() != http.StatusOK; {
		if time.Since(began) > 10*limit {
			t.Fatal("the room stays full")
		}
	}
	if got := h.requests(); len(got) != 2 {
		t.Errorf("%d requests arrived", len(got))
	}
}

// Attack: more requests than the relay has memory for, each of which is within the bound of its
// connection.
func TestAttackOperationManyConnectionsOfManyStreams(t *testing.T) {
	const connections, streams = 4, 190
	release := make(chan struct{})
	h := newHost(t, []string{"h2"}, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/first" { // it makes the connection
			return
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	b := newBox(t, h)
	statuses := make(chan int, connections*streams)
	var clients []*http.Client
	for range connections {
		c := b.client("h2")
		clients = append(clients, c)
		if res, _ := ask(t, c, http.MethodGet, "https://ok.test/v1/first", nil); res.StatusCode != http.StatusOK {
			t.Fatal(res.Status)
		}
	}
	for _, c := range clients {
		for range streams {
			go func() {
				status := 0
				if res, err := c.Get("https://ok.test/v1/a"); err == nil {
					status = res.StatusCode
					res.Body.Close()
				}
				statuses <- status
			}()
		}
	}
	const refused = connections*streams - relay.MaxRequests
	for range refused {
		if status := <-statuses; status != http.StatusServiceUnavailable {
			t.Fatalf("answered %d, recorded %.2000q", status, b.recorded())
		}
	}
	close(release)
	for range relay.MaxRequests {
		if status := <-statuses; status != http.StatusOK {
			t.Fatalf("answered %d", status)
		}
	}
	if n := len(h.requests()); n != relay.MaxRequests+connections {
		t.Errorf("%d requests arrived", n)
	}
}
