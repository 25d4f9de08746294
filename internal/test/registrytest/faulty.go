package registrytest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Fault decides what happens to a request. It returns true when it has
// answered, or broken the connection; next passes the request on to the
// registry.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler) (answered bool)

// Faulty is a registry behind a proxy that misbehaves on request.
type Faulty struct {
	Addr string // HOST:PORT to push to
	Real string // HOST:PORT of the registry itself, for looking at what arrived

	mu       sync.Mutex
	fault    Fault
	delay    time.Duration
	requests []string
}

// StartFaulty runs a registry and the proxy.
func StartFaulty(t testing.TB) *Faulty {
	t.Helper()
	f := &Faulty{Real: Start(t)}
	target := &url.URL{Scheme: "http", Host: f.Real}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // so that the registry's redirects lead back here
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		BufferPool:   buffers{},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.requests = append(f.requests, r.Method+" "+r.URL.Path)
		fault, delay := f.fault, f.delay
		f.mu.Unlock()
		time.Sleep(delay)
		if fault == nil || !fault(w, r, proxy) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	f.Addr = strings.TrimPrefix(server.URL, "http://")
	return f
}

type buffers struct{}

func (buffers) Get() []byte  { return make([]byte, 256<<10) }
func (buffers) Put(_ []byte) {}

// Set installs a fault; nil = none.
func (f *Faulty) Set(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// Delay adds a time to every request.
func (f *Faulty) Delay(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = d
}

// Requests returns the requests since the last call, as "METHOD PATH".
func (f *Faulty) Requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Clone(f.requests)
	f.requests = nil
	return out
}

// Times limits a fault to the first n requests that match.
func Times(n int, match func(*http.Request) bool, fault Fault) Fault {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if !match(r) {
			return false
		}
		mu.Lock()
		n--
		hit := n >= 0
		mu.Unlock()
		return hit && fault(w, r, next)
	}
}

// Answer is a fault that answers by itself, with or without reading the body
// as servers do.
func Answer(code int, header map[string]string, body string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
		return true
	}
}

// Drop is a fault that reads n bytes of the request and closes the connection.
func Drop(n int64) Fault {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		_, _ = io.CopyN(io.Discard, r.Body, n)
		panic(http.ErrAbortHandler)
	}
}

// After is a fault that lets the registry do its work and then loses the answer.
func After(fault Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		next.ServeHTTP(httptest.NewRecorder(), r)
		return fault(w, r, next)
	}
}

// Cut is a fault that ends an answer's body after n bytes.
func Cut(n int64) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		_, _ = io.CopyN(w, rec.Body, n)
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

// Change is a fault that changes the registry's answer.
func Change(edit func(header http.Header, body []byte) []byte) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		body := edit(rec.Header(), rec.Body.Bytes())
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(body)
		return true
	}
}

// Request matches a method and a part of the path.
func Request(method, part string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Method == method && strings.Contains(r.URL.Path, part) }
}
