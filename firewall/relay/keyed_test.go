package relay_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/firewall/credential"
)

// canary is the key of tests: wherever the agent could look it must not be.
const canary = "canary-7f3a9c51e2d84b06"

// privateGit serves private repositories: who has not the key is asked for it, as
// GitHub does. It notes the repositories to which a key came.
type privateGit struct {
	root string
	mu   sync.Mutex
	with map[string]bool // path -> with the right key
}

func (g *privateGit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, ok := r.BasicAuth()
	right := ok && password == canary
	g.mu.Lock()
	if ok {
		g.with[r.URL.Path] = right
	}
	g.mu.Unlock()
	if !right {
		w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	}
	(&cgi.Handler{Path: "/bin/sh", Args: []string{"-c", "exec git http-backend"}, Dir: g.root, Env: []string{
		"GIT_PROJECT_ROOT=" + g.root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=" + user, "PATH=" + os.Getenv("PATH"),
	}}).ServeHTTP(w, r)
}

// Git itself works with a private repository and has no credential: the key goes with
// what its entry allows, and to no other repository.
func TestAttackKeyGitHasNoCredential(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			root, work, home := t.TempDir(), t.TempDir(), t.TempDir()
			server := &privateGit{root: root, with: map[string]bool{}}
			h := newHost(t, []string{protocol}, server.ServeHTTP)
			b := newBox(t, h, "git:ok.test/acme/app push refs/heads/agent/*", "git:ok.test/other/app push refs/heads/agent/*")
			k := b.withKeys(map[string]string{"app": canary}, credential.Binding{Name: "app", For: "git:ok.test/acme/app"})
			trust := filepath.Join(home, "ca.pem")
			if err := os.WriteFile(trust, []byte(strings.Join(b.published, "")), 0o600); err != nil {
				t.Fatal(err)
			}
			git := func(dir string, args ...string) (string, error) {
				cmd := exec.CommandContext(t.Context(), "git", args...)
				cmd.Dir = dir
				cmd.Env = []string{
					"PATH=" + os.Getenv("PATH"), "HOME=" + home, "https_proxy=" + tunnelTo(t, b.addr), "GIT_SSL_CAINFO=" + trust, "LC_ALL=C",
					"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
					"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_TRACE_CURL=1", "GIT_TRACE_REDACT=0",
				}
				out, err := cmd.CombinedOutput()
				if strings.Contains(string(out), canary) || strings.Contains(string(out), base64.StdEncoding.EncodeToString([]byte(canary))[:20]) {
					t.Errorf("git %q saw the key", args)
				}
				return string(out), err
			}
			must := func(dir string, args ...string) string {
				t.Helper()
				out, err := git(dir, args...)
				if err != nil {
					t.Fatalf("git %q: %v\n%s\n%q", args, err, out, b.recorded())
				}
				return strings.TrimSpace(out)
			}
			for _, name := range []string{"acme/app.git", "other/app.git"} {
				must(root, "init", "-q", "--bare", "-b", "main", name)
				must(filepath.Join(root, name), "config", "http.receivepack", "true")
			}
			must(work, "clone", "-q", "https://ok.test/acme/app.git", ".")
			for _, message := range []string{"one", "two"} {
				must(work, "commit", "-q", "--allow-empty", "-m", message)
				must(work, "push", "-q", "origin", "HEAD:refs/heads/agent/x")
			}
			must(work, "fetch", "-q", "origin")
			want := must(work, "rev-parse", "HEAD") + " commit\trefs/heads/agent/x"
			if got := must(filepath.Join(root, "acme/app.git"), "for-each-ref"); got != want {
				t.Errorf("acme/app has %q, want %q", got, want)
			}
			for _, args := range [][]string{
				{"push", "origin", "HEAD:refs/heads/main"},
				{"push", "https://ok.test/other/app.git", "HEAD:refs/heads/agent/x"},
				{"ls-remote", "https://ok.test/other/app.git"},
				{"ls-remote", "https://ok.test/third/app.git"},
			} {
				if out, err := git(work, args...); err == nil {
					t.Errorf("git %q: %s", args, out)
				}
			}
			server.mu.Lock()
			defer server.mu.Unlock()
			for path, right := range server.with {
				if !right || !strings.HasPrefix(path, "/acme/app.git/") {
					t.Errorf("a credential came to %s (the right one: %v)", path, right)
				}
			}
			if seen := k.inside.saw(); strings.Contains(seen, canary) {
				t.Error("the firewall's process saw the key")
			}
			if !slices.Contains(k.used, "app: git push ok.test/acme/app refs/heads/agent/x") {
				t.Errorf("used: %q", k.used)
			}
		})
	}
}

// echo answers with everything that came, in each part of a response that can hold it.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var all []string
	for field, values := range r.Header {
		all = append(all, field+": "+strings.Join(values, ","))
	}
	slices.Sort(all)
	text := r.Method + " " + r.RequestURI + "\n" + strings.Join(all, "\n") + "\n" + string(body)
	line := strings.ReplaceAll(text, "\n", "|")
	w.Header().Set("X-Early", line)
	w.WriteHeader(http.StatusEarlyHints)
	w.Header().Set("X-Echo", line)
	w.Header().Set("Trailer", "X-Trailer")
	switch {
	case strings.Contains(r.URL.Path, "moved"):
		w.Header().Set("Location", "https://evil.test/?"+r.URL.RawQuery+"&"+r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusFound)
	case strings.Contains(r.URL.Path, "failed"):
		w.WriteHeader(http.StatusInternalServerError)
	}
	for i := range len(text) { // in pieces
		_, _ = io.WriteString(w, text[i:i+1])
		if i%7 == 0 {
			_ = http.NewResponseController(w).Flush()
		}
	}
	w.Header().Set("X-Trailer", line)
}

// Each form of a key arrives as the request's one credential, whatever the agent sends
// in addition, and nothing of it comes back to the agent.
func TestAttackKeyIsTheOneCredentialAndDoesNotComeBack(t *testing.T) {
	pair := base64.StdEncoding.EncodeToString([]byte("me:" + canary))
	for as, want := range map[string]string{
		"basic:me":      "Authorization: Basic " + pair,
		"bearer":        "Authorization: Bearer " + canary,
		"header:X-Mine": "X-Mine: " + canary,
		"query:mine":    "mine=" + canary,
	} {
		for _, protocol := range protocols() {
			t.Run(as+" "+protocol, func(t *testing.T) {
				t.Parallel()
				var mu sync.Mutex
				var came []string
				h := newHost(t, []string{protocol}, func(w http.ResponseWriter, r *http.Request) {
					record := &strings.Builder{}
					fmt.Fprintln(record, r.Method, r.RequestURI)
					_ = r.Header.Write(record)
					mu.Lock()
					came = append(came, strings.ReplaceAll(record.String(), "\r", ""))
					mu.Unlock()
					echo(w, r)
				})
				b := newBox(t, h, "https://ok.test GET,POST /v1/**", "https://ok.test GET,POST /open/**")
				k := b.withKeys(map[string]string{"K": canary},
					credential.Binding{Name: "K", For: "https://ok.test GET,POST /v1/**", As: as})
				client := b.client(protocol)
				for _, path := range []string{"/v1/a", "/v1/moved", "/v1/failed", "/open/a", "/other"} {
					req, _ := http.NewRequest(http.MethodPost,
						"https://ok.test"+path+"?a=1&"+strings.TrimPrefix(as, "query:")+"=agents&access_token=agents&private_token=agents&b=2",
						strings.NewReader("body"))
					for _, field := range []string{"Authorization", "Cookie", "Private-Token", "X-Api-Key", "Sudo", "X-Auth_Token"} {
						req.Header[field] = []string{"agents"}
					}
					if as == "header:X-Mine" {
						req.Header["X-Mine"], req.Header["X_mine"] = []string{"agents"}, []string{"agents"}
					}
					all := &strings.Builder{}
					req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
						Got1xxResponse: func(_ int, h textproto.MIMEHeader) error { return http.Header(h).Write(all) },
					}))
					res, err := client.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(res.Body)
					res.Body.Close()
					if err != nil {
						t.Error(path, err)
					}
					_ = res.Header.Write(all)
					_ = res.Trailer.Write(all)
					all.Write(body)
					for _, secret := range []string{canary, pair, pair[4:24]} {
						if strings.Contains(all.String(), secret) {
							t.Errorf("%s: the key came back:\n%s", path, all)
						}
					}
					if strings.HasPrefix(path, "/v1/") && !strings.Contains(string(body), "body") {
						t.Errorf("%s: %d %q", path, res.StatusCode, body)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				if len(came) != 4 {
					t.Fatalf("%d requests came", len(came))
				}
				for _, r := range came[:3] {
					if !strings.Contains(r, want) || strings.Contains(strings.Replace(r, as+"=agents", "", 1), "agents") || !strings.Contains(r, "a=1") ||
						!strings.Contains(r, "b=2") {
						t.Errorf("came:\n%s", r)
					}
				}
				if strings.Contains(came[3], canary) || strings.Contains(came[3], pair) || !strings.Contains(came[3], "agents") {
					t.Errorf("to the other entry came:\n%s", came[3])
				}
				if strings.Contains(k.inside.saw(), canary) {
					t.Error("the firewall's process saw the key")
				}
			})
		}
	}
}

// Attack: a host repeats a key with the characters escaped that its language escapes, which
// are others in each.
func TestAttackKeyEscapedInAnAnswer(t *testing.T) {
	const key = canary + `/a+b&c<d>e'f"g=~!*==`
	answers := map[string]string{
		"PHP's JSON":               canary + `\/a+b&c<d>e'f\"g=~!*==`,
		".NET's JSON":              canary + `/a\u002Bb\u0026c\u003Cd\u003Ee\u0027f\u0022g=~!*==`,
		"Gson's":                   canary + `/a+b\u0026c\u003cd\u003ee\u0027f\"g\u003d~!*\u003d\u003d`,
		"PHP's JSON in JSON":       canary + `\\\/a+b&c<d>e'f\\\"g=~!*==`,
		"Python's quote":           canary + `/a%2Bb%26c%3Cd%3Ee%27f%22g%3D~%21%2A%3D%3D`,
		"encodeURIComponent":       canary + `%2Fa%2Bb%26c%3Cd%3Ee'f%22g%3D~!*%3D%3D`,
		"encodeURI":                canary + `/a+b&c%3Cd%3Ee'f%22g=~!*==`,
		"PHP's htmlspecialchars":   canary + `/a+b&amp;c&lt;d&gt;e&#039;f&quot;g=~!*==`,
		"Go's template":            canary + `/a&#43;b&amp;c&lt;d&gt;e&#39;f&#34;g=~!*==`,
		"Python's html.escape":     canary + `/a+b&amp;c&lt;d&gt;e&#x27;f&quot;g=~!*==`,
		"each byte, of an address": strings.ToLower(percentEach(key)),
	}
	h := newHost(t, []string{"http/1.1"}, func(w http.ResponseWriter, r *http.Request) {
		text := answers[r.URL.Query().Get("as")]
		w.Header().Set("X-Echo", text)
		for i := range len(text) { // in pieces
			_, _ = io.WriteString(w, text[i:i+1])
			_ = http.NewResponseController(w).Flush()
		}
	})
	b := newBox(t, h, "https://ok.test GET /v1/**")
	b.withKeys(map[string]string{"K": key}, credential.Binding{Name: "K", For: "https://ok.test", As: "bearer"})
	for name := range answers {
		res, err := b.client("http/1.1").Get("https://ok.test/v1/a?as=" + url.QueryEscape(name))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		head := res.Header.Get("X-Echo")
		shown := strings.TrimRight(string(body), "*") // of an answer that stops, the beginning
		if err != nil || len(body) == 0 || head == "" || strings.Trim(head, "*") != "" || len(shown) > 4+len(body)/8 ||
			strings.Contains(shown, "*") {
			t.Errorf("%s: %q, %q, %v", name, body, head, err)
		}
	}
}

// Attack: an agent asks for an answer in UTF-16 or EBCDIC, as servers in Java give it to whoever
// names it in Accept, or a server says twice how a body is encoded. Nothing of it arrives.
func TestAttackKeyInOtherCharactersOfAnAnswer(t *testing.T) {
	for _, protocol := range protocols() {
		h := newHost(t, []string{protocol}, func(w http.ResponseWriter, r *http.Request) {
			_, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			if kind := r.Header.Get("Accept"); kind != "" {
				w.Header().Set("Content-Type", kind)
			} else {
				w.Header()["Content-Encoding"] = []string{"identity", "deflate"}
			}
			_, _ = io.WriteString(w, strings.Join(strings.Split(key, ""), "\x00"))
		})
		b := newBox(t, h, "https://ok.test GET /v1/**")
		b.withKeys(map[string]string{"K": canary}, credential.Binding{Name: "K", For: "https://ok.test"})
		for accept, want := range map[string]int{
			"": http.StatusBadGateway, "text/plain;charset=utf-16": http.StatusBadGateway,
			`application/json; charset="IBM037"`: http.StatusBadGateway,
			"text/html; charset=ISO-8859-1":      http.StatusOK, "application/json": http.StatusOK,
		} {
			req, _ := http.NewRequest(http.MethodGet, "https://ok.test/v1/a", nil)
			if accept != "" {
				req.Header.Set("Accept", accept)
			}
			res, err := b.client(protocol).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if res.StatusCode != want || want != http.StatusOK && strings.Contains(string(text), "7\x00f") {
				t.Errorf("%q: %d %q", accept, res.StatusCode, text)
			}
		}
	}
}

// Attack: a host repeats a key as the name of a field or a trailer, whose letters readers of
// HTTP change.
func TestAttackKeyAsTheNameOfAField(t *testing.T) {
	const key = "caNary-7F3a9c51-e2d84b06"
	for _, protocol := range protocols() {
		h := newHost(t, []string{protocol}, func(w http.ResponseWriter, _ *http.Request) {
			name := key
			if protocol == "h2" {
				name = strings.ToLower(key)
			}
			w.Header()[name] = []string{"a"}
			w.Header().Set("Trailer", "X-"+key)
			_, _ = io.WriteString(w, "body")
			w.Header().Set("X-"+key, "a")
			w.Header().Set(http.TrailerPrefix+"Y-"+key, "a")
		})
		b := newBox(t, h, "https://ok.test GET /v1/**")
		b.withKeys(map[string]string{"K": key}, credential.Binding{Name: "K", For: "https://ok.test"})
		res, err := b.client(protocol).Get("https://ok.test/v1/a")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if all := fmt.Sprint(res.Header, res.Trailer); err != nil || string(body) != "body" ||
			strings.Contains(strings.ToLower(all), strings.ToLower(key)) {
			t.Errorf("%s: %s %q %v", protocol, all, body, err)
		}
	}
}

func percentEach(text string) (out string) {
	for _, c := range []byte(text) {
		out += fmt.Sprintf("%%%02X", c)
	}
	return out
}

// What HTTP can be bent into gets no key: a second request in a body, an authority of
// another host on the connection, a name that the host's certificate does not have.
func TestAttackKeyByAnotherReadingOfTheRequest(t *testing.T) {
	h := newHost(t, []string{"http/1.1"}, nil)
	b := newBox(t, h, "https://ok.test POST /v1/**", "https://ok.test POST /open/**")
	b.withKeys(map[string]string{"K": canary}, credential.Binding{Name: "K", For: "https://ok.test POST /v1/**"})
	smuggled := "POST /v1/b HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 0\r\n\r\n"
	for _, raw := range []string{
		"POST /open/a HTTP/1.1\r\nHost: ok.test\r\nContent-Length: " + fmt.Sprint(len(smuggled)) + "\r\n\r\n" + smuggled,
		"POST /open/a HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" +
			strings.ReplaceAll(smuggled, "/v1/b", "/v1/../v1/c"),
		"POST /v1/a HTTP/1.1\r\nHost: evil.test\r\nContent-Length: 0\r\n\r\n",
		"POST /v1/a/../../open/a HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 0\r\n\r\n",
		"POST https://evil.test/v1/a HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 0\r\n\r\n",
	} {
		conn := b.dial("http/1.1")
		_, _ = io.WriteString(conn, raw+"POST /open/end HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		_, _ = io.ReadAll(conn)
	}
	if raw := h.bytes(); strings.Contains(raw, canary) || !strings.Contains(raw, "POST /open/a") {
		t.Errorf("came:\n%s", raw)
	}
	other := newHost(t, []string{"http/1.1"}, nil, "other.test")
	b2 := newBox(t, other, "https://ok.test POST /v1/**")
	b2.withKeys(map[string]string{"K": canary}, credential.Binding{Name: "K", For: "https://ok.test POST /v1/**"})
	res, err := b2.client("http/1.1").Post("https://ok.test/v1/a", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusBadGateway ||
		!strings.Contains(string(text), "the certificate of ok.test is not good") {
		t.Errorf("%d %s", res.StatusCode, text)
	}
	if other.bytes() != "" {
		t.Errorf("came: %q", other.bytes())
	}
}

// The keys' process judges by itself: a firewall that lets everything through gets no
// key for what the key's entry does not allow.
func TestAttackKeyForAFirewallThatJudgesNothing(t *testing.T) {
	h := newHost(t, []string{"http/1.1"}, echo)
	b := newBox(t, h, "https://ok.test POST /v1/**")
	b.withKeys(map[string]string{"K": canary}, credential.Binding{Name: "K", For: "https://ok.test POST /v1/**"})
	b.audit = true // it is a firewall that lets out what no entry allows
	for _, path := range []string{"/v2/a", "/v1/a"} {
		res, err := b.client("http/1.1").Post("https://ok.test"+path, "", nil)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res, err)
		}
		res.Body.Close()
		if got, want := strings.Contains(h.bytes(), canary), path == "/v1/a"; got != want {
			t.Errorf("%s: the key came: %v", path, got)
		}
	}
}

// A host that ends its connection between requests is connected to again, and one that
// sends a compressed answer, in which a key could hide, is not heard.
func TestKeyedConnections(t *testing.T) {
	for _, protocol := range protocols() {
		h := newHost(t, []string{protocol}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			switch {
			case r.URL.Path == "/v1/gzip":
				w.Header().Set("Content-Encoding", "gzip")
			case r.URL.Path == "/v1/messages": // of gRPC, each compressed by itself
				w.Header().Set("Grpc-Accept-Encoding", "gzip")
				w.Header().Set("Grpc-Encoding", "gzip")
			case r.Header.Get("Grpc-Accept-Encoding") != "":
				w.WriteHeader(http.StatusBadRequest)
			}
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		})
		b := newBox(t, h, "https://ok.test GET /v1/**")
		k := b.withKeys(map[string]string{"K": canary}, credential.Binding{Name: "K", For: "https://ok.test"})
		client := b.client(protocol)
		for range 5 {
			req, _ := http.NewRequest(http.MethodGet, "https://ok.test/v1/a", nil)
			req.Header.Set("Grpc-Accept-Encoding", "gzip")
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(res.Body); len(text) != 1<<20 || err != nil {
				t.Fatal(res.StatusCode, len(text), err)
			}
			res.Body.Close()
		}
		for _, path := range []string{"gzip", "messages"} {
			res, err := client.Get("https://ok.test/v1/" + path)
			if err != nil {
				t.Fatal(err)
			}
			if res.Body.Close(); res.StatusCode != http.StatusBadGateway {
				t.Errorf("%s: %s", path, res.Status)
			}
		}
		k.inside.Close() // a process that is gone leaves the host closed
		if res, err := client.Get("https://ok.test/v1/a"); err == nil {
			if res.Body.Close(); res.StatusCode != http.StatusBadGateway {
				t.Errorf("%s", res.Status)
			}
		}
	}
}
