package relay_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/firewall/relay"
)

// relayAt is where a process of its own relays, and by which authority.
type relayAt struct{ Addr, Published string }

// serveRelay relays to the host of the first task, and answers each further one with the memory
// that this process has.
func serveRelay(tasks *json.Decoder) error {
	var task endTask
	if err := tasks.Decode(&task); err != nil {
		return err
	}
	rules, problems := operation.Compile([]string{usual})
	if len(problems) > 0 {
		return fmt.Errorf("%v", problems)
	}
	at := relayAt{}
	r := relay.New(relay.Options{
		Memory: operation.NewMemory(), Record: func(audit.Record) error { return nil },
		Roots:   func() (*x509.CertPool, error) { return poolOf(task.Roots), nil },
		Publish: func(certificates []byte) error { at.Published = string(certificates); return nil },
	})
	if err := r.SetHosts(rules.Hosts()); err != nil {
		return err
	}
	if task.Socket != "" {
		stream, err := net.Dial("unix", task.Socket)
		if err != nil {
			return err
		}
		r.SetKeysProcess(relay.NewKeysProcess(stream, rules.Hosts()))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.Serve(context.Background(), relay.Connection{
				Client: c, Name: "ok.test", Src: c.RemoteAddr().(*net.TCPAddr).AddrPort(), Dst: netip.MustParseAddrPort("192.0.2.1:443"),
				Dial: func(ctx context.Context) (net.Conn, error) {
					return new(net.Dialer).DialContext(ctx, "tcp", task.Addr)
				},
				Rules: func() (*operation.Rules, bool) { return rules, false },
			})
		}
	}()
	at.Addr = l.Addr().String()
	if err := json.NewEncoder(os.Stdout).Encode(at); err != nil {
		return err
	}
	return sayMemory(tasks)
}

// serveKeys has a key for the host of a relay, which asks at the socket of the first task.
func serveKeys(tasks *json.Decoder) error {
	var task endTask
	if err := tasks.Decode(&task); err != nil {
		return err
	}
	used, _, err := credential.Bind([]credential.Binding{{Name: "K", For: "https://ok.test"}}, []string{usual})
	if err != nil {
		return err
	}
	keys, err := credential.Fill(used, map[string]string{"K": canary})
	if err != nil {
		return err
	}
	l, err := net.Listen("unix", task.Socket)
	if err != nil {
		return err
	}
	server := relay.NewKeyServer(keys, func() (*x509.CertPool, error) { return poolOf(task.Roots), nil }, func(_, _, _ string) {})
	go func() {
		if c, err := l.Accept(); err == nil {
			server.Serve(c)
		}
	}()
	fmt.Println("ready")
	return sayMemory(tasks)
}

func poolOf(roots []byte) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(roots)
	return pool
}

// sayMemory writes the bytes that this process has in use for each task.
func sayMemory(tasks *json.Decoder) error {
	for task := new(endTask); tasks.Decode(task) == nil; {
		runtime.GC()
		runtime.GC() // pools keep their content over one
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Println(m.HeapInuse + m.StackInuse)
	}
	return nil
}

// inUse returns the MiB that ends have in use.
func inUse(t *testing.T, ends ...*end) (all float64) {
	t.Helper()
	for _, e := range ends {
		n, err := strconv.Atoi(e.do(t, endTask{}))
		if err != nil {
			t.Fatal(err)
		}
		all += float64(n) / (1 << 20)
	}
	return all
}

// 200 streams of one connection that a host fills and a client does not read hold less than
// 100 MiB, also together with those of the process that has the host's key. Client and host are
// not counted.
func TestStreamsThatAreNotReadHoldLittle(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		t.Run(fmt.Sprintf("keyed=%t", keyed), func(t *testing.T) {
			var sent atomic.Int64
			h := newHost(t, []string{"h2"}, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/first" {
					fill(counted{w, &sent}, r)
				}
			})
			task := endTask{Addr: h.addr, Roots: world().root}
			var ends []*end
			if keyed {
				task.Socket = filepath.Join(t.TempDir(), "keys")
				ends = append(ends, newEnd(t, "keys"))
				ends[0].do(t, task)
			}
			ends = append(ends, newEnd(t, "relay"))
			var at relayAt
			if err := json.Unmarshal([]byte(ends[len(ends)-1].do(t, task)), &at); err != nil {
				t.Fatal(err)
			}
			c := clientAt(at.Addr, "h2", poolOf([]byte(at.Published)))
			defer c.CloseIdleConnections()
			const window = 64 << 10
			c.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: window, MaxReceiveBufferPerConnection: 1 << 30}
			ask(t, c, http.MethodGet, "https://ok.test/v1/first", nil) // the others share its connection
			before := inUse(t, ends...)
			var open sync.WaitGroup
			for range maxStreams {
				open.Go(func() {
					res, err := c.Get("https://ok.test/v1/a")
					if err != nil || res.StatusCode != http.StatusOK {
						t.Errorf("%v %v", res, err)
						return
					}
					t.Cleanup(func() { res.Body.Close() })
				})
			}
			open.Wait()
			for last := int64(-1); sent.Load() != last; time.Sleep(500 * time.Millisecond) { // until the buffers are full
				last = sent.Load()
			}
			if sent.Load() < maxStreams*window {
				t.Errorf("the host sent %d bytes", sent.Load())
			}
			held := inUse(t, ends...) - before
			t.Logf("%.0f MiB", held)
			if held > 100 {
				t.Errorf("%.0f MiB", held)
			}
		})
	}
}

// The answers to a few requests have much room, so that a host far away sends on: as long as its
// bytes and the client's word that it wants more are under way, it can send no more than that.
func TestAFewAnswersHaveMuchRoom(t *testing.T) {
	sent := make(chan struct{})
	h := newHost(t, []string{"h2"}, func(w http.ResponseWriter, _ *http.Request) {
		download(w, 1<<20) // which the client does not read
		close(sent)
		_, _ = io.Copy(w, endless{})
	})
	c := newBox(t, h).client("h2")
	c.Timeout = 0
	c.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}
	res, err := c.Get("https://ok.test/v1/a")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	select {
	case <-sent:
	case <-time.After(limit):
		t.Error("the host cannot send as much as that")
	}
}
