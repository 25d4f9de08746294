package credproxy

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/fakeapi"
)

func TestOutage(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	answer := func(status int, header ...string) *http.Response {
		resp := &http.Response{StatusCode: status, Header: http.Header{}}
		for i := 0; i < len(header); i += 2 {
			resp.Header.Set(header[i], header[i+1])
		}
		return resp
	}
	type step struct {
		after time.Duration // of the first one
		resp  *http.Response
		wait  time.Duration // of a request that is sent again, or that the API asks for; 0 = none
		over  bool
	}
	late := 5*time.Minute + time.Second
	for name, steps := range map[string][]step{
		"waits grow": {{0, answer(529), time.Second, false}, {time.Second, answer(529), 2 * time.Second, false},
			{3 * time.Second, answer(500), 4 * time.Second, false}},
		"patience ends":            {{0, answer(503), time.Second, false}, {5 * time.Minute, answer(503), 0, true}},
		"not before patience ends": {{0, answer(503), time.Second, false}, {5*time.Minute - 3*time.Second, answer(503), 2 * time.Second, false}},
		"an answer in between": {{0, answer(429), time.Second, false}, {4 * time.Minute, answer(200), 0, false},
			{9 * time.Minute, answer(429), 4 * time.Second, false}},
		"as the API says":      {{0, answer(429, "Retry-After", "17"), 17 * time.Second, false}},
		"in milliseconds":      {{0, answer(429, "Retry-After", "17", "Retry-After-Ms", "1500"), 1500 * time.Millisecond, false}},
		"at a time":            {{0, answer(503, "Retry-After", "Fri, 02 Jan 2026 03:05:05 GMT"), time.Minute, false}},
		"at once":              {{0, answer(503, "Retry-After", "0"), leastWait, false}},
		"longer than patience": {{0, answer(429, "Retry-After", "3600"), time.Hour, true}},
		"to the end of patience": {{0, answer(529), time.Second, false},
			{5*time.Minute - 1500*time.Millisecond, answer(529), 1500 * time.Millisecond, false},
			{5 * time.Minute, answer(529), 0, true}},
		"nonsense": {{0, answer(429, "Retry-After", "-1"), time.Second, false},
			{0, answer(429, "Retry-After", "soon"), 2 * time.Second, false}},
		"it says no": {{0, answer(529, "X-Should-Retry", "false"), 0, true}},
		"once more after progress": {{0, answer(529), time.Second, false}, {late, answer(529), 2 * time.Second, false},
			{late + 4*time.Minute, answer(529), 4 * time.Second, false},
			{2 * late, answer(529), 0, true}, {2*late + time.Second, answer(200), 0, false}, {3 * late, answer(529), 30 * time.Second, false},
			{4 * late, answer(529), 0, true}},
		"not reached": {{0, nil, time.Second, false}, {time.Second, answer(503), 2 * time.Second, false},
			{2 * time.Second, nil, 4 * time.Second, false}, {late, nil, 8 * time.Second, false}, {2 * late, nil, 0, true}},
		"what does not pass": {{0, answer(400), 0, false}, {0, answer(401), 0, false}, {0, answer(404), 0, false}, {0, answer(413), 0, false}},
	} {
		t.Run(name, func(t *testing.T) {
			var o outage
			for i, s := range steps {
				wait, again, over := o.heard(begin.Add(s.after), 5*time.Minute, i, strings.Contains(name, "progress") || name == "not reached", s.resp)
				if wait != s.wait || again != (s.wait > 0 && !s.over) || over != s.over {
					t.Errorf("%d: %v %v %v, want %+v", i, wait, again, over, s)
				}
			}
		})
	}
	var o outage
	if _, again, over := o.heard(begin, 0, 0, true, answer(529)); again || over {
		t.Error("without patience the agent does not hear of it")
	}
}

// The model API goes in the middle of a run and comes back: no work is lost. One that was
// never reached fails at once.
func TestAModelAPIThatGoesInTheMiddle(t *testing.T) {
	api := &fakeapi.Server{}
	back, told := make(chan struct{}), make(chan string, 9)
	f := newFixture(t, api, func(o *Options) {
		o.Patience, o.Warn = time.Minute, func(line string) { told <- line; close(back) }
		o.Upstream = &url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.proxy.upstream.Host = l.Addr().String()
	_ = l.Close()
	if r := f.post(t); r.status != http.StatusBadGateway || len(told) > 0 {
		t.Fatalf("before the beginning: %+v", r)
	}
	serve := func() (end func()) {
		l, err := net.Listen("tcp", f.proxy.upstream.Host)
		if err != nil {
			t.Error(err)
			return func() {}
		}
		s := &http.Server{Handler: api, ReadHeaderTimeout: time.Minute}
		go func() { _ = s.Serve(l) }()
		return func() { _ = s.Close() }
	}
	end := serve()
	if r := f.post(t); r.status != http.StatusOK {
		t.Fatalf("%+v", r)
	}
	end()
	f.proxy.transport.CloseIdleConnections()
	done := make(chan func())
	go func() {
		<-back
		done <- serve()
	}()
	r := f.post(t)
	if r.status != http.StatusOK {
		t.Fatalf("it is not asked again: %+v", r)
	}
	defer (<-done)()
	if len(api.Requests()) != 2 || !strings.Contains(<-told, "cannot be reached; it is asked again") {
		t.Errorf("%+v, %d requests", r, len(api.Requests()))
	}
}

// Claude gives a 529 up after three tries.
func TestAnOverloadedModelAPIIsAskedAgain(t *testing.T) {
	overloaded := fakeapi.Fault{Status: 529, Retry: "0"}
	api := &fakeapi.Server{Faults: []fakeapi.Fault{overloaded, {Status: 503, Retry: "0"}, overloaded, overloaded}}
	var told []string
	f := newFixture(t, api, func(o *Options) {
		o.Patience, o.Warn = time.Minute, func(line string) { told = append(told, line) }
	})
	r := f.post(t)
	if n := len(api.Requests()); r.status != http.StatusOK || n != 5 || !strings.Contains(r.body, "scripted") {
		t.Errorf("%d after %d requests: %s", r.status, n, r.body)
	}
	for _, q := range api.Requests() {
		if q.Body != hello || !q.HasAPIKey {
			t.Errorf("%+v", q)
		}
	}
	if len(told) != 1 || told[0] != "the model API, "+f.proxy.upstream.Host+", answers 529; it is asked again for 1m0s" {
		t.Errorf("%q", told)
	}
	if n := f.logged(); n > 1 || f.proxy.Answered() != 1 {
		t.Errorf("%d requests are logged, %d answered", n, f.proxy.Answered())
	}
}

func TestAnAPIThatStaysOverloadedIsNotAskedByClaudeAgain(t *testing.T) {
	var told []string
	f := newFixture(t, &fakeapi.Server{Always: &fakeapi.Fault{Status: 429, Retry: "3600"}}, func(o *Options) {
		o.Patience, o.Warn = time.Minute, func(line string) { told = append(told, line) }
	})
	for range 2 {
		if r := f.post(t); r.status != 429 || r.header.Get("X-Should-Retry") != "false" || !strings.Contains(r.body, "scripted error 429") {
			t.Errorf("%+v", r)
		}
	}
	want := "the model API, " + f.proxy.upstream.Host + ", answers 429 Too Many Requests and asks for a wait of 1h0m0s; it is not asked again"
	if len(told) != 1 || told[0] != want {
		t.Errorf("%q, want %q", told, want)
	}
}

// Attack: a client that leaves while the proxy waits holds nothing, and is charged for nothing.
func TestAClientThatLeavesWhileTheProxyWaits(t *testing.T) {
	api := &fakeapi.Server{Always: &fakeapi.Fault{Status: 529, Retry: "30"}}
	f := newFixture(t, api, func(o *Options) { o.Patience = time.Hour })
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		for len(api.Requests()) == 0 && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		leave()
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/v1/messages", strings.NewReader(hello))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	if _, err := http.DefaultTransport.RoundTrip(req); err == nil {
		t.Fatal("the client was answered")
	}
	if u := f.usage(); u.Output != 0 || f.logged() != 1 || len(api.Requests()) != 1 {
		t.Errorf("%+v, %d logged, %d asked", u, f.logged(), len(api.Requests()))
	}
}
