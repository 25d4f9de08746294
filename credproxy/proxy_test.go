package credproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/internal/fakeapi"
)

const (
	testKey   = "sk-ant-api03-the-real-key-0123456789-AbCdEf"
	testToken = "sbx-session-0123456789abcdef"
	hello     = `{"model":"claude-test","stream":true,"messages":[{"role":"user","content":"hi"}]}`
)

// fixture is a proxy in front of an upstream, and its log.
type fixture struct {
	proxy *Proxy
	url   string
	front *httptest.Server

	mu      sync.Mutex
	entries []Entry
}

func newFixture(t *testing.T, upstream http.Handler, change func(*Options)) *fixture {
	t.Helper()
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	credential, err := APIKey(testKey)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{}
	o := Options{Upstream: target, Credential: credential, SessionToken: testToken, Log: func(e Entry) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.entries = append(f.entries, e)
	}}
	if change != nil {
		change(&o)
	}
	if f.proxy, err = New(o); err != nil {
		t.Fatal(err)
	}
	f.front = httptest.NewServer(f.proxy)
	t.Cleanup(f.front.Close)
	t.Cleanup(func() { _ = f.proxy.Close() })
	f.url = f.front.URL
	return f
}

// log is everything that was logged, as text. It ends the proxy's server, so
// that no handler is under way.
func (f *fixture) log() string {
	f.front.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("%+v %#v", f.entries, f.entries)
}

// logged is how many requests have come to their end.
func (f *fixture) logged() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.entries)
}

// usage is what was metered. It ends the proxy's server as log does.
func (f *fixture) usage() Usage {
	f.front.Close()
	return f.proxy.Usage()
}

type reply struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

func (f *fixture) do(t *testing.T, method, path, body string, header ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, f.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Opaque = path // sent as it is
	if p, q, found := strings.Cut(path, "?"); found {
		req.URL.Opaque, req.URL.RawQuery = p, q
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(text), err}
}

// post sends hello with the session token.
func (f *fixture) post(t *testing.T, header ...string) reply {
	t.Helper()
	return f.do(t, http.MethodPost, "/v1/messages?beta=true", hello, append([]string{"Authorization", "Bearer " + testToken}, header...)...)
}

// wantRefusal checks for an error that claude can show.
func wantRefusal(t *testing.T, what string, got reply, status int) {
	t.Helper()
	var shape struct {
		Type  string
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal([]byte(got.body), &shape); got.status != status || err != nil || shape.Type != "error" ||
		shape.Error.Message == "" {
		t.Errorf("%s: %d %q, want %d with an API error", what, got.status, got.body, status)
	}
}

func TestTheRealKeyIsAddedAndTokensAreCounted(t *testing.T) {
	for name, stream := range map[string]bool{"streamed": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			api := &fakeapi.Server{APIKey: testKey}
			f := newFixture(t, api, nil)
			body := strings.Replace(hello, "true", fmt.Sprint(stream), 1)
			got := f.do(t, http.MethodPost, "/v1/messages", body, "X-Api-Key", testToken, "Anthropic-Version", "2023-06-01", "Anthropic-Beta",
				"claude-code-20250219,effort-2025-11-24")
			if got.status != http.StatusOK || got.err != nil || !strings.Contains(got.body, "scripted") {
				t.Fatalf("%+v", got)
			}
			if got := f.do(t, http.MethodPost, "/v1/messages/count_tokens", body, "X-Api-Key", testToken); got.status != http.StatusOK {
				t.Errorf("count_tokens: %+v", got)
			}
			want := Usage{
				Requests: 1, Input: fakeapi.InputTokens, Output: fakeapi.OutputTokens,
				CacheRead: fakeapi.CacheReadTokens, CacheWrite: fakeapi.CacheWriteTokens,
			}
			if got := f.usage(); got != want {
				t.Errorf("metered %+v, want %+v", got, want)
			}
			q := api.Requests()[0]
			if q.Body != body || q.Header.Get("Anthropic-Version") != "2023-06-01" ||
				q.Header.Get("Anthropic-Beta") != "claude-code-20250219,effort-2025-11-24" {
				t.Errorf("the request changed on the way: %+v", q)
			}
		})
	}
}

func TestOAuthTokenIsABearerWithItsBetaMerged(t *testing.T) {
	const oauth = "sk-ant-oat01-0123456789abcdef"
	api := &fakeapi.Server{Bearer: oauth}
	f := newFixture(t, api, func(o *Options) {
		var err error
		if o.Credential, err = ParseCredential(" " + oauth + "\n"); err != nil {
			t.Fatal(err)
		}
	})
	if got := f.post(t, "Anthropic-Beta", "thinking-1,effort-2", "Anthropic-Beta",
		"oauth-2025-04-20, claude-code-3"); got.status != http.StatusOK {
		t.Fatalf("%+v", got)
	}
	q := api.Requests()[0]
	if got := strings.Join(q.Header.Values("Anthropic-Beta"), "|"); got != "thinking-1,effort-2,claude-code-3,oauth-2025-04-20" ||
		q.HasAPIKey {
		t.Errorf("beta %q, api key %v", got, q.HasAPIKey)
	}
}

func TestUpstreamErrorsPassUnmodified(t *testing.T) {
	for _, status := range []int{400, 401, 404, 429, 500, 529} {
		f := newFixture(t, &fakeapi.Server{Always: &fakeapi.Fault{Status: status, Retry: "7"}}, nil)
		got := f.post(t)
		wantRefusal(t, fmt.Sprint(status), got, status)
		if !strings.Contains(got.body, fmt.Sprintf("scripted error %d", status)) || got.header.Get("Retry-After") != "7" {
			t.Errorf("%d: %+v", status, got)
		}
		if used := f.usage(); used != (Usage{}) {
			t.Errorf("%d: metered %+v", status, used)
		}
	}
}

func TestReachabilityCheckIsAnsweredHere(t *testing.T) {
	api := &fakeapi.Server{}
	f := newFixture(t, api, nil)
	if got := f.do(t, http.MethodHead, "/api/hello", ""); got.status != http.StatusOK {
		t.Errorf("%+v", got)
	}
	if len(api.Requests()) != 0 {
		t.Error("it reached the upstream")
	}
}

func TestEventsAreNotBufferedAndACutAnswerIsNotWhole(t *testing.T) {
	next := make(chan struct{})
	f := newFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 2 {
			_, _ = io.WriteString(w, "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5}}}\n\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
			}
		}
		panic(http.ErrAbortHandler)
	}), nil)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+"/v1/messages", strings.NewReader(hello))
	req.Header.Set("X-Api-Key", testToken)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for range 2 {
		var event [10]byte
		if _, err := io.ReadFull(resp.Body, event[:]); err != nil {
			t.Fatal(err)
		}
		next <- struct{}{}
		if _, err := io.CopyN(io.Discard, resp.Body, 58); err != nil {
			t.Fatal(err)
		}
	}
	if rest, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("a cut answer ended as if it were whole, after %q", rest)
	}
	if got := f.usage(); got.Input != 5 {
		t.Errorf("the tokens of a cut answer were not counted: %+v", got)
	}
}

func TestCredentialIsNeverPrinted(t *testing.T) {
	c, err := APIKey(testKey)
	if err != nil {
		t.Fatal(err)
	}
	holder := struct{ C Credential }{c}
	inJSON, _ := json.Marshal(map[string]any{"c": c, "p": &c, "h": holder})
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "c", c, "h", holder)
	text := fmt.Sprintf("%v %+v %#v %s %q %x %X %d %v %v %+v", c, c, c, c, c, c, c, c, &c, holder, &holder) +
		fmt.Sprint(c) + c.String() + c.GoString() + string(inJSON) + logged.String()
	hexKey := fmt.Sprintf("%x", testKey)
	if strings.Contains(text, testKey) || strings.Contains(strings.ToLower(text), hexKey[:20]) || strings.Contains(text, "115 107 45") {
		t.Errorf("the key is printed: %s", text)
	}
	for _, bad := range []string{"", "sk-x", "sk-ant-api03-with a space", "sk-ant-api03-line\nbreak", "sk-ant-api03-ü"} {
		if _, err := APIKey(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestNewRefusesWhatCouldLeakTheKey(t *testing.T) {
	credential, _ := APIKey(testKey)
	for name, o := range map[string]Options{
		"http to another machine": {Upstream: &url.URL{Scheme: "http", Host: "gateway.example"}, Credential: credential,
			SessionToken: testToken},
		"password in the address": {Upstream: &url.URL{Scheme: "https", Host: "x", User: url.UserPassword("u", "pass-word")},
			Credential: credential, SessionToken: testToken},
		"no credential":                {Upstream: &url.URL{Scheme: "https", Host: "x"}, SessionToken: testToken},
		"no token":                     {Upstream: &url.URL{Scheme: "https", Host: "x"}, Credential: credential},
		"the key as the session token": {Upstream: &url.URL{Scheme: "https", Host: "x"}, Credential: credential, SessionToken: testKey},
		"no upstream":                  {Credential: credential, SessionToken: testToken},
	} {
		if _, err := New(o); err == nil || strings.Contains(err.Error(), testKey) || strings.Contains(err.Error(), "pass-word") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSessionTokensDiffer(t *testing.T) {
	if a, b := NewSessionToken(), NewSessionToken(); a == b || len(a) < 64 {
		t.Errorf("%q, %q", a, b)
	}
}
