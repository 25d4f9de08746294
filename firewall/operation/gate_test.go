package operation

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// gate judges as the relay does, for real clients: it is their proxy for plain
// HTTP, and takes each request for one inside the TLS of that name.
type gate struct {
	rules *Rules
	sites map[string]http.Handler // by name; "" = any other

	mu      sync.Mutex
	memory  *Memory
	refused []Decision
	arrived []string // "METHOD host/path?query"
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target, _ := strings.CutPrefix(r.RequestURI, "http://"+r.URL.Host)
	raw, query, _ := strings.Cut(target, "?")
	path, err := ParsePath(raw)
	body := NewBody(r.Body)
	d := Decision{}
	if err != nil {
		d.Reason = err.Error()
	} else {
		req := &Request{Host: r.URL.Hostname(), Port: webPort, Method: r.Method, Path: path, Query: query, Header: r.Header}
		d = g.rules.Decide(g.remembers(), req, body)
	}
	if !d.Allowed {
		g.refuse(w, d)
		return
	}
	g.pass(w, r, d, body)
}

func (g *gate) remembers() *Memory {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.memory
}

// startAgain lets the gate go on with a memory.
func (g *gate) startAgain(m *Memory) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.memory = m
}

func (g *gate) refuse(w http.ResponseWriter, d Decision) {
	g.mu.Lock()
	g.refused = append(g.refused, d)
	g.mu.Unlock()
	a := d.Answer
	if a == nil {
		text := "sandbox: " + d.Reason + "\nallowed by: " + d.Wants + "\n"
		a = &Answer{Status: http.StatusForbidden, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte(text)}
	}
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}

func (g *gate) pass(w http.ResponseWriter, r *http.Request, d Decision, body *Body) {
	whole, err := io.ReadAll(body.Rest())
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(whole)), int64(len(whole)), nil
	if d.Observe != nil {
		r.Header.Set("Accept-Encoding", "identity")
	}
	g.mu.Lock()
	g.arrived = append(g.arrived, r.Method+" "+strings.TrimPrefix(r.RequestURI, "http://"))
	g.mu.Unlock()
	site := g.sites[r.URL.Hostname()]
	if site == nil {
		site = g.sites[""]
	}
	answer := httptest.NewRecorder()
	site.ServeHTTP(answer, r)
	if d.Observe != nil {
		if seen := d.Observe(answer.Code, answer.Header()); seen != nil {
			_, _ = seen.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
			_, _ = seen.Write(answer.Body.Bytes()[answer.Body.Len()/2:])
			_ = seen.Close()
		}
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// gatedClient runs programs whose way out is the gate.
type gatedClient struct {
	t     *testing.T
	gate  *gate
	proxy string
	home  string
}

func newGatedClient(t *testing.T, g *gate) *gatedClient {
	t.Helper()
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	return &gatedClient{t, g, server.URL, t.TempDir()}
}

// run runs a program and returns all that it says.
func (c *gatedClient) run(dir string, args ...string) (string, error) {
	c.t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.home, "http_proxy=" + c.proxy, "HTTP_PROXY=" + c.proxy, "https_proxy=" + c.proxy,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "LC_ALL=C",
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must is run for what has to work.
func (c *gatedClient) must(dir string, args ...string) string {
	c.t.Helper()
	out, err := c.run(dir, args...)
	if err != nil {
		c.t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(out)
}

// send sends one request as it is and returns the status.
func (c *gatedClient) send(method, target, body string, header http.Header) int {
	c.t.Helper()
	proxy, _ := url.Parse(c.proxy)
	req, err := http.NewRequest(method, "http://"+target, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	answer, err := (&http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}
