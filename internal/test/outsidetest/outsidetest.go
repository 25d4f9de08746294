package outsidetest

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// World notes what arrives. It is safe for concurrent use; the zero value is
// ready.
type World struct {
	mu       sync.Mutex
	names    []string
	requests []Request
}

// Request is an HTTP request that arrived.
type Request struct {
	At   string // address and port that it came to
	Host string // as the client wrote it
}

// Names returns the names that were asked for, in order, in lower case and without
// the last dot.
func (w *World) Names() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.names)
}

// Requests returns the requests that arrived, in order.
func (w *World) Requests() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// Forget makes it as if nothing had arrived.
func (w *World) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names, w.requests = nil, nil
}

// Zone returns the addresses of a name, which comes in lower case and without the
// last dot, and for how many seconds they hold; !ok = there is no such name.
type Zone func(name string) (addrs []netip.Addr, ttl uint32, ok bool)

// ServeNames answers questions for addresses until the test ends.
func (w *World) ServeNames(t testing.TB, conn net.PacketConn, zone Zone) {
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer := w.answer(buf[:n], zone); answer != nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
}

// answer returns the answer to a message with one question; nil = none.
func (w *World) answer(message []byte, zone Zone) []byte {
	var m dnsmessage.Message
	if m.Unpack(message) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	w.mu.Lock()
	w.names = append(w.names, name)
	w.mu.Unlock()
	reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
	addrs, ttl, ok := zone(name)
	if !ok {
		reply.RCode = dnsmessage.RCodeNameError
	}
	for _, addr := range addrs {
		h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: ttl}
		switch {
		case addr.Is4() && q.Type == dnsmessage.TypeA:
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: addr.As4()}})
		case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
	packed, err := reply.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// Add notes a request that arrived otherwise, such as a TLS greeting.
func (w *World) Add(r Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, r)
}

// Noting is pages, with every request noted first.
func (w *World) Noting(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.Add(Request{r.Context().Value(http.LocalAddrContextKey).(net.Addr).String(), r.Host})
		pages.ServeHTTP(out, r)
	})
}

// ServeWeb lets pages answer requests until the test ends.
func (w *World) ServeWeb(t testing.TB, l net.Listener, pages http.Handler) {
	server := &http.Server{Handler: w.Noting(pages)}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }()
}
