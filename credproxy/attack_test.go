package credproxy

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/org/claude-sandbox/internal/fakeapi"
)

func TestPathTricksReachNothingElse(t *testing.T) {
	api := &fakeapi.Server{APIKey: testKey}
	f := newFixture(t, api, nil)
	for _, path := range []string{
		"/v1/messages/../files", "/v1/messages/..%2ffiles", "/v1/messages/%2e%2e/files", "//v1/messages", "/v1//messages",
		"/v1/messages/", "/v1/messages%2f..%2ffiles", "/v1/Messages", "/v1/%6dessages", "/v1/messages;x=1", "/v1/messages/batches",
		"/v1/models", "/v1/files", "/v1/organizations/api_keys", "/api/oauth/claude_cli/create_api_key", "/", "/v1/complete",
		"/v1/messages?beta=false", "/v1/messages?beta=true&x=1", "/v1/messages?x", "/v1/messages?beta=true%26x", "/api/hello",
	} {
		wantRefusal(t, path, f.do(t, http.MethodPost, path, hello, "X-Api-Key", testToken), http.StatusForbidden)
	}
	wantRefusal(t, "models", f.do(t, http.MethodGet, "/v1/models?limit=1000", "", "X-Api-Key", testToken), http.StatusForbidden)
	for _, method := range []string{"GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
		wantRefusal(t, method, f.do(t, method, "/v1/messages", hello, "X-Api-Key", testToken), http.StatusMethodNotAllowed)
	}
	if n := len(api.Requests()); n != 0 {
		t.Errorf("%d requests reached the upstream: %+v", n, api.Requests())
	}
}

func TestTokenOfAnotherSessionIsRefused(t *testing.T) {
	api := &fakeapi.Server{}
	f := newFixture(t, api, nil)
	other := NewSessionToken()
	for name, header := range map[string][]string{
		"none":                       {},
		"another session's":          {"Authorization", "Bearer " + other},
		"as a key":                   {"X-Api-Key", other},
		"empty":                      {"Authorization", "Bearer "},
		"a prefix":                   {"X-Api-Key", testToken[:len(testToken)-1]},
		"more than it":               {"X-Api-Key", testToken + "x"},
		"the real key":               {"X-Api-Key", testKey},
		"basic":                      {"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+testToken))},
		"no scheme":                  {"Authorization", testToken},
		"two, the right one first":   {"Authorization", "Bearer " + testToken, "Authorization", "Bearer " + other},
		"two, the right one last":    {"Authorization", "Bearer " + other, "Authorization", "Bearer " + testToken},
		"two right ones":             {"X-Api-Key", testToken, "X-Api-Key", testToken},
		"right bearer and wrong key": {"Authorization", "Bearer " + testToken, "X-Api-Key", other},
		"in a cookie":                {"Cookie", "token=" + testToken},
		"in Proxy-Authorization":     {"Proxy-Authorization", "Bearer " + testToken},
	} {
		wantRefusal(t, name, f.do(t, http.MethodPost, "/v1/messages", hello, header...), http.StatusUnauthorized)
	}
	if n := len(api.Requests()); n != 0 {
		t.Errorf("%d requests reached the upstream", n)
	}
}

// The upstream is hostile or has a debugging page: it shows the request's
// headers in the answer, in several forms.
func TestUpstreamThatEchoesTheKeyDoesNotGiveItAway(t *testing.T) {
	for _, status := range []int{200, 400, 500} {
		f := newFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			key := r.Header.Get("X-Api-Key")
			if key != testKey {
				t.Error("the upstream did not get the key, the test shows nothing")
			}
			w.Header().Set("Request-Id", "id-"+key)
			w.Header().Set("Anthropic-Debug", key)
			w.Header().Set("X-Echo", key)
			w.Header().Set("Set-Cookie", "k="+key)
			w.Header().Set("Retry-After", key)
			w.WriteHeader(status)
			for _, part := range []string{"plain ", key[:9], key[9:], " base64 ", base64.StdEncoding.EncodeToString([]byte("a" + key))} {
				_, _ = io.WriteString(w, part) // the key arrives in two pieces
				_ = http.NewResponseController(w).Flush()
			}
		}), nil)
		got := f.post(t)
		text := fmt.Sprintf("%v %s", got.header, got.body)
		if strings.Contains(text, testKey) || strings.Contains(text, testKey[10:]) ||
			strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("a" + testKey))[4:40]) {
			t.Errorf("%d: the key is in the answer: %s", status, text)
		}
		if got.status != status || !strings.HasPrefix(got.body, "plain ***") {
			t.Errorf("%d: %+v", status, got)
		}
		if got.header.Get("X-Echo") != "" || got.header.Get("Set-Cookie") != "" {
			t.Errorf("%d: unlisted headers came through: %v", status, got.header)
		}
		if strings.Contains(f.log(), testKey) {
			t.Error("the key is in the log")
		}
	}
}

// A compressed answer would pass the filter unseen.
func TestCompressedEchoIsRefused(t *testing.T) {
	f := newFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("asked for %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "pretend")
	}), nil)
	wantRefusal(t, "gzip", f.post(t, "Accept-Encoding", "gzip, br"), http.StatusBadGateway)
}

func TestSmuggledHeadersDoNotReachTheUpstream(t *testing.T) {
	api := &fakeapi.Server{APIKey: testKey}
	f := newFixture(t, api, nil)
	got := f.post(t,
		"X-Forwarded-For", "1.2.3.4", "X-Forwarded-Host", "evil", "Forwarded", "host=evil", "Proxy-Authorization", "Basic eA==",
		"Proxy-Connection", "keep-alive", "Cookie", "a=b", "X-Http-Method-Override", "GET", "X-Original-Url", "/v1/files",
		"X-Rewrite-Url", "/v1/files", "Te", "trailers", "Connection", "X-Api-Key", "Keep-Alive", "9", "Host", "evil",
		"X-Stainless-Lang", "js")
	if got.status != http.StatusOK {
		t.Fatalf("%+v", got)
	}
	q := api.Requests()[0]
	if !q.Authorized || q.HasBearer {
		t.Errorf("authorized %v, bearer %v", q.Authorized, q.HasBearer)
	}
	for name := range q.Header {
		switch name {
		case "Accept", "Accept-Encoding", "Content-Length", "Content-Type", "User-Agent", "X-Stainless-Lang":
		default:
			t.Errorf("the upstream got %s: %q", name, q.Header[name])
		}
	}
	if q.Header.Get("X-Stainless-Lang") != "js" {
		t.Error("a listed header was lost")
	}
}

func TestRedirectDoesNotTakeTheKeyElsewhere(t *testing.T) {
	var stolen atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	defer thief.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		f := newFixture(t, http.RedirectHandler(thief.URL, status), nil)
		got := f.post(t)
		wantRefusal(t, fmt.Sprint(status), got, http.StatusBadGateway)
		if got.header.Get("Location") != "" {
			t.Errorf("%d: the agent was sent to %s", status, got.header.Get("Location"))
		}
	}
	if stolen.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

func TestOversizeBodiesAreRefused(t *testing.T) {
	api := &fakeapi.Server{}
	f := newFixture(t, api, func(o *Options) { o.MaxBody = 1000 })
	big := strings.Repeat("x", 1001)
	wantRefusal(t, "announced", f.do(t, http.MethodPost, "/v1/messages", big, "X-Api-Key", testToken), http.StatusRequestEntityTooLarge)

	// Chunked, so that the length is not known before.
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+"/v1/messages", io.MultiReader(strings.NewReader(big)))
	req.Header.Set("X-Api-Key", testToken)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	wantRefusal(t, "chunked", reply{status: resp.StatusCode, body: string(body)}, http.StatusRequestEntityTooLarge)
	if n := len(api.Requests()); n != 0 {
		t.Errorf("%d requests reached the upstream", n)
	}
	if n := f.proxy.buffered.Load(); n != 0 {
		t.Errorf("%d bytes stay reserved", n)
	}
}

// Clients that announce a body and never send it must not exhaust the host, keep
// others out, or hold a connection to the upstream.
func TestBodiesThatNeverArriveKeepNobodyOut(t *testing.T) {
	api := &fakeapi.Server{}
	f := newFixture(t, api, nil)
	// Over HTTP/2, as through the tunnel; on HTTP/1 net/http would keep the
	// refusal back until the body has come.
	both := new(http.Protocols)
	both.SetUnencryptedHTTP2(true)
	var handlers sync.WaitGroup
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		f.proxy.ServeHTTP(w, r)
	}))
	front.Config.Protocols = both
	front.Start()
	defer front.Close()
	transport := &http.Transport{Protocols: both}
	defer transport.CloseIdleConnections()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	const clients = 100
	left := make(chan struct{}, clients)
	for range clients {
		body, never := io.Pipe()
		defer never.Close()
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, front.URL+"/v1/messages", body)
		req.ContentLength = DefaultMaxBody
		req.Header.Set("X-Api-Key", testToken)
		go func() {
			if resp, err := transport.RoundTrip(req); err == nil {
				t.Errorf("a body that never came was answered %d", resp.StatusCode)
				_ = resp.Body.Close()
			}
			left <- struct{}{}
		}()
		if _, err := never.Write([]byte("{")); err != nil { // it has arrived in the proxy's hands, or in the stream's
			t.Fatal(err)
		}
	}
	if got := f.post(t); got.status != http.StatusOK {
		t.Errorf("an honest request was answered %d beside them: %s", got.status, got.body)
	}
	if n := f.proxy.buffered.Load(); n > 2*clients*firstBuffer {
		t.Errorf("%d bytes are reserved for nothing", n)
	}
	if n := len(api.Requests()); n != 1 {
		t.Errorf("%d requests reached the upstream", n)
	}
	hangUp()
	for range clients {
		<-left
	}
	front.Close()
	handlers.Wait()
	if n := f.proxy.buffered.Load(); n != 0 {
		t.Errorf("%d bytes stay reserved", n)
	}
}

func TestAbsoluteFormTargetIsNoForwardProxy(t *testing.T) {
	api := &fakeapi.Server{}
	f := newFixture(t, api, nil)
	for _, target := range []string{"POST http://evil.example/v1/messages", "POST https://api.anthropic.com/v1/messages",
		"CONNECT evil.example:443", "HEAD http://evil.example/api/hello"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", target,
			testToken, len(hello), hello)
		answer, _ := io.ReadAll(conn)
		_ = conn.Close()
		if !strings.HasPrefix(string(answer), "HTTP/1.1 403 ") {
			t.Errorf("%s: %q", target, answer)
		}
	}
	if n := len(api.Requests()); n != 0 {
		t.Errorf("%d requests reached the upstream", n)
	}
}

// The proxy's words about an upstream that fails must not hold the key, nor
// may the log hold what the agent puts into a path or a model's name.
func TestErrorsAndLogHoldNoKeyAndNoControlCharacters(t *testing.T) {
	f := newFixture(t, http.NotFoundHandler(), func(o *Options) {
		o.Upstream = &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	})
	wantRefusal(t, "nothing listens", f.post(t), http.StatusBadGateway)
	wantRefusal(t, "path", f.do(t, http.MethodPost, "/"+testKey+"%1b[2J", hello, "X-Api-Key", testToken), http.StatusForbidden)
	odd := `{"model":"` + testKey + `\u001b[2J","messages":[]}`
	wantRefusal(t, "model", f.do(t, http.MethodPost, "/v1/messages", odd, "X-Api-Key", testToken), http.StatusBadGateway)
	if log := f.log(); strings.Contains(log, testKey) || strings.Contains(log, "\x1b") || strings.Contains(log, testToken) ||
		strings.Contains(log, `"hi"`) {
		t.Errorf("the log holds what it must not: %s", log)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.entries[0]; e.Method != "POST" || e.Path != "/v1/messages" || e.Status != 502 || e.Model != "claude-test" || e.Refused == "" {
		t.Errorf("entry %+v", e)
	}
}
