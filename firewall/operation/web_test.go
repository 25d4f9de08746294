package operation

import (
	"net/http"
	"strings"
	"testing"
)

// ask judges a request as the relay asks: "GET host/path?query".
func ask(t *testing.T, r *Rules, m *Memory, method, url, body string, header http.Header) Decision {
	t.Helper()
	host, target, _ := strings.Cut(url, "/")
	raw, query, _ := strings.Cut("/"+target, "?")
	path, err := ParsePath(raw)
	if err != nil {
		return Decision{Reason: err.Error()}
	}
	req := &Request{Host: host, Port: webPort, Method: method, Path: path, Query: query, Header: header}
	return r.Decide(m, req, NewBody(strings.NewReader(body)))
}

func compile(t *testing.T, entries ...string) *Rules {
	t.Helper()
	r, problems := Compile(entries)
	if len(problems) > 0 {
		t.Fatalf("%q: %+v", entries, problems)
	}
	return r
}

func TestWebEntries(t *testing.T) {
	r := compile(t, "https://api.example.com GET,HEAD /v1/** /status", "https://*.example.org POST /hooks/*")
	for _, c := range []struct {
		method, url string
		allowed     bool
	}{
		{"GET", "api.example.com/v1/models", true},
		{"HEAD", "api.example.com/v1/", true},
		{"GET", "api.example.com/v1", false},
		{"GET", "api.example.com/status", true},
		{"GET", "api.example.com/status/", false},
		{"POST", "api.example.com/v1/models", false},
		{"get", "api.example.com/v1/models", false},
		{"GET", "api.example.com/v2/models", false},
		{"GET", "api.example.com/v1/%6dodels", true},
		{"GET", "api.example.com/%761/models", true},
		{"POST", "a.example.org/hooks/7", true},
		{"POST", "a.example.org/hooks/", false},
		{"POST", "a.example.org/hooks/7/8", false},
		{"POST", "example.org/hooks/7", false},
	} {
		if d := ask(t, r, NewMemory(), c.method, c.url, "", nil); d.Allowed != c.allowed {
			t.Errorf("%s %s: %+v, want allowed=%v", c.method, c.url, d, c.allowed)
		}
	}
}

func TestAttackPaths(t *testing.T) {
	r := compile(t, "https://api.example.com GET /v1/**")
	for _, target := range []string{
		"/v1/../admin", "/v1/%2e%2e/admin", "/v1/.%2e/admin", "/v1/%2E./admin", "/v1//admin", "//v1/x", "/v1/..%2fadmin",
		"/v1/..;/admin", "/v1/a;b/c", "/v1/%252e%252e/admin", `/v1/..\admin`, "/v1/%5c..%5cadmin", "/v1/x%00", "/v1/x%0d%0aHost:y",
		"/v1/a%2fb", "/v1/%c0%af..", "/v1/%", "/v1/%4", "/v1/%zz", "/v1/a b", "/v1/ä", "/v1/x%3fy", "/v1/x%23y", "*", "http://other/v1/x",
	} {
		path, err := ParsePath(target)
		if err != nil {
			continue
		}
		req := &Request{Host: "api.example.com", Port: webPort, Method: http.MethodGet, Path: path}
		if d := r.Decide(NewMemory(), req, NewBody(strings.NewReader(""))); d.Allowed {
			t.Errorf("%q is allowed as %q", target, path.Segments)
		}
	}
}

func TestAttackMethodOverride(t *testing.T) {
	r := compile(t, "https://api.example.com GET /v1/**")
	for _, query := range []string{"_method=DELETE", "a=1&_METHOD=PUT", "a=1;_method=PUT", "%5fmethod=PUT", ".method=PUT", "a&+.method=PUT",
		"[method=PUT", "[_method]=PUT", "a&_method]=PUT"} {
		if d := ask(t, r, NewMemory(), "GET", "api.example.com/v1/x?"+query, "", nil); d.Allowed {
			t.Errorf("?%s passes", query)
		}
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"https://api.example.com GET,HEAD /v1/** /status": "GET, HEAD of /v1/** and /status at api.example.com",
		"git:github.com/acme/app":                         "git: read acme/app at github.com",
		"git:github.com/acme/app lfs":                     "git: read acme/app and its large files at github.com",
		"git:github.com/acme/app push refs/heads/agent/*": "git: read acme/app at github.com, and push to refs/heads/agent/* there",
		"git:github.com/acme/app lfs push":                "git: read acme/app at github.com, and upload large files there",
		"npm:read":                                        "npm: download packages",
		"npm:npm.example.com/team read":                   "npm: download packages at npm.example.com/team",
		"https://*.Example.org  POST  /**":                "POST of /** at any host below example.org",
		"https://b\u00fccher.example GET /":               "GET of / at xn--bcher-kva.example",
	} {
		if got, reads := Words(text); got != want || reads == (strings.Contains(got, "POST") || strings.Contains(got, ", and ")) {
			t.Errorf("%q: %q, %v", text, got, reads)
		}
	}
}

func TestTyped(t *testing.T) {
	for text, want := range map[string]bool{
		"https://api.example.com GET /": true, "https:443": false, "https:443/tcp": false, "api.example.com": false, "api.example.com:443": false,
		"": false, "ftp://example.com": false,
	} {
		if Typed(text) != want {
			t.Errorf("Typed(%q) is not %v", text, want)
		}
	}
}

func TestProblems(t *testing.T) {
	for text, want := range map[string]string{
		"https://":                                                 "names no host",
		"https://api.example.com":                                  "names no methods and paths",
		"https://api.example.com GET":                              "names no methods and paths",
		"https://api.example.com get /":                            "is no method",
		"https://api.example.com GET v1":                           "is no path",
		"https://api.example.com GET /**/x":                        "goes on behind",
		"https://10.0.0.1 GET /":                                   "is an address",
		"https://api.example.com/v1 GET /":                         "is no host",
		"https://user@api.example.com GET /":                       "is no host",
		"https://api.example.com:99999 GET /":                      "is not a port",
		"https://api.example.com TRACE /":                          "is no method",
		"https://api.example.com GET /a /b/../c":                   "is no path",
		"https://api.example.com GET /v1/%2a%2A":                   `encoded "*"`,
		"https://api.example.com GET /v1/%2a":                      `encoded "*"`,
		"https://api.example.com GET /v1*":                         "within a segment",
		"https://api.example.com GET /***":                         "within a segment",
		"https://api.example.com GET /a,b":                         "has a comma",
		"https://api.example.com GET /" + strings.Repeat("x", 600): "more than 500 characters",
	} {
		_, problems := Compile([]string{"https://ok.example.com GET /", text})
		if len(problems) != 1 || problems[0].Index != 1 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%q: %+v, want %q", text, problems, want)
		}
	}
}

// The program that is refused chooses the path, and a person pastes the entry that is offered.
func TestAttackOperationOffersMoreThanWasAskedFor(t *testing.T) {
	r := compile(t, "https://api.example.com GET /v1/**")
	for path, want := range map[string]string{
		"/v2/models":                   "https://api.example.com GET /v2/models",
		"/v2/%6dodels":                 "https://api.example.com GET /v2/%6dodels",
		"/v2/**":                       "",
		"/v2/*":                        "",
		"/v2/%2a%2a":                   "",
		"/v2/%2A":                      "",
		"/%2a%2A":                      "",
		"/v2/x,npm:read":               "",
		"/v2/x'y":                      "",
		"/" + strings.Repeat("x", 400): "",
	} {
		d := ask(t, r, NewMemory(), "GET", "api.example.com"+path, "", nil)
		if d.Allowed || d.Wants != want {
			t.Errorf("%s: %+v, want %q", path, d, want)
		}
	}
}

func TestBodyLosesNothing(t *testing.T) {
	b := NewBody(strings.NewReader("0123456789"))
	if got, err := b.Peek(4); string(got) != "0123" || err != nil {
		t.Fatal(string(got), err)
	}
	if _, err := b.Whole(5); err == nil {
		t.Fatal("ten bytes fit into five")
	}
	if got, err := b.Whole(10); string(got) != "0123456789" || err != nil {
		t.Fatal(string(got), err)
	}
	rest := new(strings.Builder)
	buffer := make([]byte, 3)
	for from := b.Rest(); ; {
		n, err := from.Read(buffer)
		rest.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	if rest.String() != "0123456789" {
		t.Fatal(rest.String())
	}
}
