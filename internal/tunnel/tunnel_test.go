package tunnel

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// pipes is one end of a stream made of two real pipes.
type pipes struct {
	io.Reader
	io.Writer
	closers []io.Closer
}

func (p pipes) Close() error {
	var errs []error
	for _, c := range p.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// tunnelOver starts a host for handler and a guest, joined by two real pipes,
// and returns the host, the guest's URL and the guest's result.
func tunnelOver(t testing.TB, handler http.Handler) (host *Host, url string, guest <-chan error) {
	t.Helper()
	stdin, toGuest := pipe(t)
	fromGuest, stdout := pipe(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host = NewHost(pipes{fromGuest, toGuest, []io.Closer{fromGuest, toGuest}}, handler)
	result := make(chan error, 1)
	go func() { result <- serveGuest(t.Context(), listener, stdin, stdout) }()
	t.Cleanup(func() { _ = host.Close() })
	if err := host.WaitReady(patience(t)); err != nil {
		t.Fatal(err)
	}
	return host, "http://" + listener.Addr().String(), result
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// patience bounds what must happen, so that a broken test ends.
func patience(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// client speaks HTTP/1.1 over connections of its own, as another program does.
func client(t testing.TB) *http.Client {
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func await(t testing.TB, what string, c <-chan error) error {
	t.Helper()
	select {
	case err := <-c:
		return err
	case <-patience(t).Done():
		t.Fatalf("%s did not happen", what)
		return nil
	}
}

func echo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Seen", r.Method+" "+r.Host+" "+r.URL.RequestURI())
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body)
}

func TestParallelBodiesArriveWhole(t *testing.T) {
	_, url, _ := tunnelOver(t, http.HandlerFunc(echo))
	c := client(t)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			body := make([]byte, 1<<20)
			_, _ = rand.Read(body)
			resp, err := c.Post(url+fmt.Sprintf("/%d?beta=true", i), "application/octet-stream", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err != nil || !bytes.Equal(got, body) {
				t.Errorf("request %d: %d bytes back, %v; sent %d", i, len(got), err, len(body))
			}
			if want := fmt.Sprintf("POST %s /%d?beta=true", agentHost, i); resp.Header.Get("X-Seen") != want {
				t.Errorf("the host saw %q, want %q", resp.Header.Get("X-Seen"), want)
			}
		})
	}
	wg.Wait()
}

// A refusal that comes before the body has been read must reach the client,
// and its connection must serve on.
func TestEarlyRefusalReachesTheClient(t *testing.T) {
	_, url, _ := tunnelOver(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	c := client(t)
	for i := range 50 {
		resp, err := c.Post(url, "", bytes.NewReader(make([]byte, 100<<10)))
		if err != nil {
			t.Fatal(i, err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized || string(body) != "no\n" || err != nil {
			t.Fatal(i, resp.Status, string(body), err)
		}
	}
}

// The handler sends the second event only after the client has read the
// first, so a buffer anywhere on the way would block this test.
func TestServerSentEventsAreNotBuffered(t *testing.T) {
	read := make(chan struct{})
	_, url, _ := tunnelOver(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-read:
			case <-r.Context().Done():
				return
			}
		}
	}))
	req, _ := http.NewRequestWithContext(patience(t), http.MethodGet, url, nil)
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for i := range 3 {
		event := make([]byte, len("data: 0\n\n"))
		if _, err := io.ReadFull(resp.Body, event); err != nil || !strings.Contains(string(event), fmt.Sprint(i)) {
			t.Fatalf("event %d: %q, %v", i, event, err)
		}
		read <- struct{}{}
	}
}

func TestClientThatLeavesCancelsItsRequestOnTheHost(t *testing.T) {
	cancelled := make(chan error, 1)
	_, url, _ := tunnelOver(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		cancelled <- nil
	}))
	ctx, leave := context.WithCancel(patience(t))
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	leave()
	_ = await(t, "the cancellation", cancelled)
}

func TestHostDeathEndsTheGuestAndAnswersWhatWasUnderWay(t *testing.T) {
	arrived := make(chan error, 1)
	host, url, guest := tunnelOver(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- nil
		<-r.Context().Done()
	}))
	type answer struct {
		status int
		body   string
		err    error
	}
	answers := make(chan answer, 1)
	c := client(t)
	go func() {
		resp, err := c.Post(url, "", strings.NewReader("x"))
		if err != nil {
			answers <- answer{err: err}
			return
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		answers <- answer{resp.StatusCode, string(body), err}
	}()
	select {
	case <-arrived:
	case early := <-answers:
		t.Fatalf("answered without the host: %+v", early)
	}
	_ = host.conn.Close() // as the end of the host's process does
	got := <-answers
	if got.err != nil || got.status != http.StatusBadGateway || !strings.Contains(got.body, `"type":"api_error"`) {
		t.Errorf("got %+v, want 502 with an API error", got)
	}
	if err := await(t, "the guest's end", guest); err != nil {
		t.Errorf("guest: %v, want nil after an orderly end", err)
	}
	if err := host.Wait(); err != nil {
		t.Errorf("host: %v", err)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
		t.Error("the guest's port is still open")
	}
}

// The engine closes the guest's standard input when the host's process dies,
// while the guest's output still has a reader.
func TestHalfClosedStreamEndsTheGuest(t *testing.T) {
	stdin, toGuest := pipe(t)
	fromGuest, stdout := pipe(t)
	defer fromGuest.Close()
	host := NewHost(pipes{fromGuest, toGuest, []io.Closer{toGuest}}, http.NotFoundHandler())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	guest := make(chan error, 1)
	go func() { guest <- serveGuest(t.Context(), listener, stdin, stdout) }()
	if err := host.WaitReady(patience(t)); err != nil {
		t.Fatal(err)
	}
	if resp, err := client(t).Get("http://" + listener.Addr().String()); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Fatal(resp, err)
	}
	if err := toGuest.Close(); err != nil {
		t.Fatal(err)
	}
	if err := await(t, "the guest's end", guest); err != nil {
		t.Errorf("guest: %v", err)
	}
	if err := host.Wait(); err != nil {
		t.Errorf("host: %v", err)
	}
}

func TestGuestThatCannotListenIsNeverReady(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	stdin, toGuest := pipe(t)
	fromGuest, stdout := pipe(t)
	host := NewHost(pipes{fromGuest, toGuest, []io.Closer{fromGuest, toGuest}}, http.NotFoundHandler())
	defer host.Close()
	err = ServeGuest(t.Context(), taken.Addr().String(), stdin, stdout)
	if err == nil || !strings.Contains(err.Error(), "opening the tunnel's port") {
		t.Errorf("guest: %v", err)
	}
	_ = errors.Join(stdin.Close(), stdout.Close()) // the guest's process ends
	if err := host.WaitReady(patience(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("host: %v, want ErrClosed", err)
	}
}

// A program of another kind at the guest's end (a shell that complains, say)
// must be an error and not a hang.
func TestStreamWithoutATunnelIsRefused(t *testing.T) {
	stdin, w := pipe(t)
	if _, err := w.WriteString("sh: not found\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	r, stdout := pipe(t)
	defer r.Close()
	if err := ServeGuest(patience(t), "127.0.0.1:0", stdin, stdout); err == nil {
		t.Error("the guest took a stranger for its host")
	}

	fromGuest, w := pipe(t)
	r2, toGuest := pipe(t)
	defer r2.Close()
	if _, err := w.WriteString("GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	host := NewHost(pipes{fromGuest, toGuest, []io.Closer{fromGuest, toGuest}}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the host served HTTP/1 to a stranger")
	}))
	defer host.Close()
	if err := host.WaitReady(patience(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("host: %v, want ErrClosed", err)
	}
}

// Attack: the agent asks the guest for what only the guest may ask, or uses
// it as a way to other hosts.
func TestAgentCannotForgeTheGuestsOwnRequestsNorProxyThroughIt(t *testing.T) {
	_, url, _ := tunnelOver(t, http.HandlerFunc(echo))
	for name, request := range map[string]string{
		"reserved host":  "GET " + readyPath + " HTTP/1.1\r\nHost: " + readyHost + "\r\nConnection: close\r\n\r\n",
		"absolute form":  "GET http://" + readyHost + readyPath + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"other host":     "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n",
		"connect":        "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nConnection: close\r\n\r\n",
		"http/2 upgrade": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, request)
		answer, _ := io.ReadAll(conn)
		_ = conn.Close()
		status, _, _ := strings.Cut(string(answer), "\r\n")
		if name == "reserved host" {
			if !strings.Contains(string(answer), "X-Seen: GET "+agentHost+" "+readyPath) {
				t.Errorf("%s reached something else than the handler under the agent's name: %q", name, answer)
			}
			continue
		}
		if !strings.Contains(status, " 403 ") && !strings.Contains(status, " 400 ") && !strings.Contains(status, " 505 ") {
			t.Errorf("%s: answered %q", name, status)
		}
	}
}

func BenchmarkDownload(b *testing.B) {
	const size = 64 << 20
	block := make([]byte, 1<<20)
	_, url, _ := tunnelOver(b, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range size / len(block) {
			_, _ = w.Write(block)
		}
	}))
	c := client(b)
	b.SetBytes(size)
	for b.Loop() {
		resp, err := c.Get(url)
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, resp.Body); n != size || err != nil {
			b.Fatal(n, err)
		}
		_ = resp.Body.Close()
	}
}
