package relay_test

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
)

// Requests that a client sends at once on a new connection share a connection to the host, and a second
// one when they are many. A host that takes few streams on a connection gets as many as it needs.
func TestRequestsAtOnceShareAConnection(t *testing.T) {
	for _, streams := range []int{0, 10} {
		t.Run(fmt.Sprint(streams), func(t *testing.T) {
			const requests = 50
			var all sync.WaitGroup
			all.Add(requests)
			h := newHost(t, []string{"h2"}, func(w http.ResponseWriter, _ *http.Request) {
				all.Done()
				all.Wait() // none ends before all have come
				_, _ = io.WriteString(w, "x")
			})
			h.server.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streams}
			b := newBox(t, h)
			conn, err := b.client("h2").Transport.(*http.Transport).NewClientConn(t.Context(), "https", "ok.test:443")
			if err != nil {
				t.Fatal(err)
			}
			var asking sync.WaitGroup
			for range requests {
				asking.Go(func() {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://ok.test/v1/a", nil)
					if err != nil {
						t.Error(err)
						return
					}
					res, err := conn.RoundTrip(req)
					if err != nil {
						t.Error(err)
						return
					}
					defer res.Body.Close()
					if text, err := io.ReadAll(res.Body); string(text) != "x" {
						t.Errorf("%q %v", text, err)
					}
				})
			}
			asking.Wait()
			if n := h.conns.Load(); streams == 0 && n > 2 || n > requests/2 {
				t.Errorf("%d requests at once made %d connections to the host", requests, n)
			}
		})
	}
}
