package relay_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/firewall/relay"
)

// straight is a client that speaks to the host itself, for comparison.
func straight(b testing.TB, h *host, protocol string) *http.Client {
	c := clientAt(h.addr, protocol, world().pool)
	b.Cleanup(c.CloseIdleConnections)
	return c
}

// clientAt finds every host at one address.
func clientAt(addr, protocol string, roots *x509.CertPool) *http.Client {
	tr := &http.Transport{
		Protocols:       new(http.Protocols),
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		},
	}
	tr.Protocols.SetHTTP1(protocol != "h2")
	tr.Protocols.SetHTTP2(protocol == "h2")
	return &http.Client{Transport: tr}
}

// each runs a benchmark straight, through the relay, and through the relay and the keys'
// process, in both protocols.
func each(b *testing.B, handle http.HandlerFunc, run func(b *testing.B, c *http.Client)) {
	for _, protocol := range protocols() {
		h := newHost(b, []string{protocol}, handle)
		b.Run(protocol+"/straight", func(b *testing.B) { run(b, straight(b, h, protocol)) })
		b.Run(protocol+"/relay", func(b *testing.B) {
			c := newBox(b, h).client(protocol)
			c.Timeout = 0
			run(b, c)
		})
		b.Run(protocol+"/keyed", func(b *testing.B) {
			box := newBox(b, h)
			box.withKeys(map[string]string{"K": canary}, credential.Binding{Name: "K", For: "https://ok.test"})
			c := box.client(protocol)
			c.Timeout = 0
			run(b, c)
		})
	}
}

// BenchmarkFirstByte is the time to the first byte of a response, on a connection
// that exists and on a new one.
func BenchmarkFirstByte(b *testing.B) {
	small := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }
	get := func(b *testing.B, c *http.Client) {
		res, err := c.Get("https://ok.test/v1/a")
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	b.Run("kept", func(b *testing.B) {
		each(b, small, func(b *testing.B, c *http.Client) {
			get(b, c)
			for b.Loop() {
				get(b, c)
			}
		})
	})
	b.Run("new", func(b *testing.B) {
		each(b, small, func(b *testing.B, c *http.Client) {
			for b.Loop() {
				get(b, c)
				c.Transport.(*http.Transport).CloseIdleConnections()
			}
		})
	})
}

// download answers with size bytes, and says how many, as archives have it.
func download(w http.ResponseWriter, size int) {
	chunk := make([]byte, 1<<20)
	w.Header().Set("Content-Length", fmt.Sprint(size))
	for range size / len(chunk) {
		_, _ = w.Write(chunk)
	}
}

// BenchmarkDownload is the throughput of one large response.
func BenchmarkDownload(b *testing.B) {
	const size = 64 << 20
	each(b, func(w http.ResponseWriter, _ *http.Request) { download(w, size) }, func(b *testing.B, c *http.Client) {
		b.SetBytes(size)
		buf := make([]byte, 256<<10)
		for b.Loop() {
			res, err := c.Get("https://ok.test/v1/a")
			if err != nil {
				b.Fatal(err)
			}
			if n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, res.Body, buf); n != size {
				b.Fatal(n, err)
			}
			res.Body.Close()
		}
	})
}

// maxStreams are the streams of a connection.
const maxStreams = 200

// fill answers without an end.
func fill(w http.ResponseWriter, _ *http.Request) {
	chunk := make([]byte, 32<<10)
	for {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// All streams of a connection but one, full and unread, do not stop that one.
func TestStreamsThatNobodyReadsStopNoOther(t *testing.T) {
	const size = 4 << 20
	var sent atomic.Int64
	h := newHost(t, []string{"h2"}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/read" {
			download(w, size)
			return
		}
		fill(counted{w, &sent}, r)
	})
	c := newBox(t, h).client("h2")
	c.Timeout = 0 // it would end the unread ones
	const window = 64 << 10
	c.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: window, MaxReceiveBufferPerConnection: 1 << 30}
	for range maxStreams - 1 {
		res, err := c.Get("https://ok.test/v1/unread")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
	}
	for last := int64(-1); sent.Load() != last; time.Sleep(200 * time.Millisecond) { // until the buffers are full
		last = sent.Load()
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://ok.test/v1/read", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if n, err := io.Copy(io.Discard, res.Body); n != size {
		t.Errorf("%d bytes arrived: %v", n, err)
	}
}

// counted counts the bytes of an answer.
type counted struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

// BenchmarkReady is what twenty typed entries add to a start.
func BenchmarkReady(b *testing.B) {
	var entries []string
	for i := range 20 {
		entries = append(entries, fmt.Sprintf("https://host%d.test GET /v1/**", i))
	}
	for b.Loop() {
		r := relay.New(relay.Options{
			Publish: func([]byte) error { return nil }, Roots: relay.SystemRoots, Memory: operation.NewMemory(),
			Record: func(audit.Record) error { return nil },
		})
		if err := r.SetHosts(compile(b, entries...).Hosts()); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}
