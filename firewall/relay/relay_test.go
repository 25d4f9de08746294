package relay_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/firewall/relay"
)

var quiet = log.New(io.Discard, "", 0)

// ask sends a request and returns the response with its whole body.
func ask(t testing.TB, c *http.Client, method, url string, body io.Reader) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

func TestAnAllowedRequestArrivesAsItWasSent(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			h := newHost(t, []string{protocol}, nil)
			b := newBox(t, h)
			c := b.client(protocol)
			res, text := ask(t, c, http.MethodPost, "https://ok.test/v1/a%20b?x=1&y=%2F", strings.NewReader("hello"))
			if want := "POST /v1/a%20b?x=1&y=%2F ok.test 5"; res.StatusCode != 200 || text != want {
				t.Errorf("%d %q, want %q", res.StatusCode, text, want)
			}
			res, text = ask(t, c, http.MethodGet, "https://ok.test/v2/secret", nil)
			if res.StatusCode != 403 || res.Header.Get(relay.HeaderRefused) != "relay" ||
				!strings.Contains(text, `to allow it, add this line to "allow" in sandbox.jsonc: "https://ok.test GET /v2/secret",`) {
				t.Errorf("%d %v %q", res.StatusCode, res.Header, text)
			}
			if got := h.requests(); len(got) != 1 || (h.protocol == "h2") != (protocol == "h2") {
				t.Errorf("the host got %q in %q", got, h.protocol)
			}
			want := []string{"allow http POST /v1/a%20b: the entry names this method and path",
				"deny http no entry allows GET /v2/secret at ok.test"}
			if got := b.recorded(); !slices.Equal(got, want) {
				t.Errorf("recorded %q", got)
			}
		})
	}
}

func TestTheHostChoosesTheProtocol(t *testing.T) {
	for _, test := range []struct {
		host, client []string
		want         string
	}{
		{[]string{"h2", "http/1.1"}, []string{"h2", "http/1.1"}, "h2"},
		{[]string{"http/1.1"}, []string{"h2", "http/1.1"}, "http/1.1"},
		{[]string{"h2", "http/1.1"}, []string{"http/1.1"}, "http/1.1"},
		{nil, []string{"h2", "http/1.1"}, "http/1.1"},
		{[]string{"h2", "http/1.1"}, nil, ""},
	} {
		b := newBox(t, newHost(t, test.host, nil))
		if got := b.dial(test.client...).ConnectionState().NegotiatedProtocol; got != test.want {
			t.Errorf("host %q, client %q: %q, want %q", test.host, test.client, got, test.want)
		}
	}
}

// TestEventsStream sends one event for each that the client has read: a relay that
// held anything back would stop both.
// What a host chose once is what clients are told, while the host is asked: neither side waits
// for the other. A host that chooses otherwise then is spoken to by the connection after that.
func TestBothSidesOpenAtTheSameTime(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &host{addr: l.Addr().String()}
	protocols, greet := make(chan string, 8), make(chan struct{}, 8)
	server := &http.Server{Handler: h, ErrorLog: quiet}
	arrived := make(chan net.Conn)
	go func() { _ = server.Serve(&given{Listener: l, conns: arrived}) }()
	t.Cleanup(func() { server.Close() })
	go func() {
		defer close(arrived)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			<-greet
			conn := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{world().host("ok.test")}, NextProtos: []string{<-protocols}})
			if conn.Handshake() != nil {
				c.Close()
				continue
			}
			arrived <- conn
		}
	}()
	b := newBox(t, h)
	for i, c := range []struct {
		host, told string
		status     string
	}{
		{"http/1.1", "http/1.1", "200"}, {"http/1.1", "http/1.1", "200"}, {"h3", "http/1.1", "502"}, {"http/1.1", "http/1.1", "200"},
	} {
		protocols <- c.host
		if i == 0 || i == 3 { // nothing is known of it
			greet <- struct{}{}
		}
		conn := b.dial("h2", "http/1.1") // the host greets only when this has ended
		if i == 1 || i == 2 {
			greet <- struct{}{}
		}
		if got := conn.ConnectionState().NegotiatedProtocol; got != c.told {
			t.Errorf("connection %d: %q, want %q", i, got, c.told)
		}
		_, _ = io.WriteString(conn, lastRequest)
		answer, _ := io.ReadAll(conn)
		if !strings.HasPrefix(string(answer), "HTTP/1.1 "+c.status+" ") {
			t.Errorf("connection %d: %.200q", i, answer)
		}
	}
}

// given is a listener of connections that somebody gives.
type given struct {
	net.Listener
	conns chan net.Conn
}

func (g *given) Accept() (net.Conn, error) {
	if c, ok := <-g.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func TestEventsStream(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			next := make(chan struct{})
			h := newHost(t, []string{protocol}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for i := range 5 {
					fmt.Fprintf(w, "data: %d\n\n", i)
					_ = http.NewResponseController(w).Flush()
					select {
					case <-next:
					case <-r.Context().Done():
						return
					}
				}
			})
			res, err := newBox(t, h).client(protocol).Get("https://ok.test/v1/events")
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			lines := bufio.NewReader(res.Body)
			for i := range 5 {
				line, err := lines.ReadString('\n')
				if err != nil || line != fmt.Sprintf("data: %d\n", i) {
					t.Fatalf("%q, %v", line, err)
				}
				_, _ = lines.ReadString('\n')
				next <- struct{}{}
			}
		})
	}
}

// TestBothDirectionsStream is how gRPC speaks: each message of the client is
// answered before the next one, and the end comes as a trailer.
func TestBothDirectionsStream(t *testing.T) {
	h := newHost(t, []string{"h2"}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_ = http.NewResponseController(w).Flush()
		if r.Header.Get("Te") != "trailers" {
			return
		}
		lines := bufio.NewReader(r.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			_, _ = io.WriteString(w, strings.ToUpper(line))
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set("Grpc-Status", "0")
		w.Header().Set(http.TrailerPrefix+"Grpc-Message", "fine")
	})
	b := newBox(t, h)
	pr, pw := io.Pipe()
	req, err := http.NewRequest(http.MethodPost, "https://ok.test/v1/pkg.Service/Talk", pr)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Te", "trailers")
	req.Header.Set("Content-Type", "application/grpc")
	res, err := b.client("h2").Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for _, word := range []string{"one\n", "two\n", "three\n"} {
		if _, err := io.WriteString(pw, word); err != nil {
			t.Fatal(err)
		}
		if got, err := lines.ReadString('\n'); err != nil || got != strings.ToUpper(word) {
			t.Fatalf("%q, %v", got, err)
		}
	}
	pw.Close()
	if _, err := io.ReadAll(lines); err != nil {
		t.Fatal(err)
	}
	if res.Trailer.Get("Grpc-Status") != "0" || res.Trailer.Get("Grpc-Message") != "fine" {
		t.Errorf("trailers %v", res.Trailer)
	}
}

// TestBodiesArriveWhole sends bodies that are larger than every buffer, both ways at once.
func TestBodiesArriveWhole(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB
	sum := sha256.Sum256(large)
	for _, protocol := range protocols() {
		for _, length := range []string{"known", "unknown"} {
			t.Run(protocol+" "+length, func(t *testing.T) {
				h := newHost(t, []string{protocol}, func(w http.ResponseWriter, r *http.Request) {
					_ = http.NewResponseController(w).EnableFullDuplex()
					_, _ = io.Copy(w, r.Body)
				})
				var body io.Reader = bytes.NewReader(large)
				if length == "unknown" {
					body = struct{ io.Reader }{body}
				}
				_, text := ask(t, newBox(t, h).client(protocol), http.MethodPost, "https://ok.test/v1/echo", body)
				if sha256.Sum256([]byte(text)) != sum {
					t.Errorf("%d bytes came back", len(text))
				}
			})
		}
	}
}

func TestNothingIsAddedOrFollowed(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			h := newHost(t, []string{protocol}, func(w http.ResponseWriter, r *http.Request) {
				for _, field := range []string{"X-Forwarded-For", "Via", "Accept-Encoding", "User-Agent"} {
					if r.Header.Get(field) != "" {
						w.Header().Add("Seen", field)
					}
				}
				w.Header().Set("Location", "https://ok.test/v2/secret")
				w.Header().Set("Alt-Svc", `h3=":443"`)
				w.WriteHeader(http.StatusFound)
			})
			c := newBox(t, h).client(protocol)
			c.Transport.(*http.Transport).DisableCompression = true
			req, _ := http.NewRequest(http.MethodGet, "https://ok.test/v1/a", nil)
			req.Header.Set("User-Agent", "")
			res, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != 302 || res.Header["Seen"] != nil || res.Header["Alt-Svc"] != nil || len(h.requests()) != 1 {
				t.Errorf("%d %v, the host got %q", res.StatusCode, res.Header, h.requests())
			}
		})
	}
}

func TestCompressionPassesUntouched(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, "text")
	z.Close()
	h := newHost(t, []string{"http/1.1"}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", r.Header.Get("Accept-Encoding"))
		_, _ = w.Write(packed.Bytes())
	})
	c := newBox(t, h).client("http/1.1")
	c.Transport.(*http.Transport).DisableCompression = true
	req, _ := http.NewRequest(http.MethodGet, "https://ok.test/v1/a", nil)
	req.Header.Set("Accept-Encoding", "gzip")
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); !bytes.Equal(body, packed.Bytes()) || res.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%v %q", res.Header, body)
	}
}

// The record of a refusal names the operation, and the entry that would allow it, from which reports
// and policy learn make their lines.
func TestARefusalIsRecordedWithItsEntry(t *testing.T) {
	b := newBox(t, newHost(t, nil, nil), usual, "git:ok.test/acme/app")
	for path, want := range map[string][2]string{
		"/v2/a": {"GET /v2/a", "https://ok.test GET /v2/a"},
		"/acme/other/info/refs?service=git-receive-pack": {"git push ok.test/acme/other", "git:ok.test/acme/other push refs/heads/*"},
	} {
		res, err := b.client("http/1.1").Get("https://ok.test" + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		b.mu.Lock()
		r := b.records[len(b.records)-1]
		b.mu.Unlock()
		if r.Verdict != firewall.Deny || r.Operation != want[0] || r.Wants != want[1] {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

func TestModeAuditLetsOutAndSaysSo(t *testing.T) {
	h := newHost(t, []string{"h2"}, nil)
	b := newBox(t, h)
	b.audit = true
	c := b.client("h2")
	if res, _ := ask(t, c, http.MethodDelete, "https://ok.test/v9", nil); res.StatusCode != 200 {
		t.Errorf("%d", res.StatusCode)
	}
	if res, _ := ask(t, c, http.MethodGet, "https://ok.test/v1/../v9", nil); res.StatusCode != 403 {
		t.Errorf("a path that reads in two ways: %d", res.StatusCode)
	}
	got := b.recorded()
	if len(got) != 2 || !strings.HasPrefix(got[0], "allow http would be denied: ") || !strings.HasPrefix(got[1], "deny http ") {
		t.Errorf("recorded %q", got)
	}
}

func TestNewRulesJudgeTheNextRequestOfAConnection(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			h := newHost(t, []string{protocol}, nil)
			b := newBox(t, h)
			c := b.client(protocol)
			for _, step := range []struct {
				rules *operation.Rules
				want  int
			}{{b.rules, 200}, {compile(t, "https://ok.test GET /v3/**"), 403}, {compile(t, "https://other.test GET /v1/**"), 403},
				{nil, 403}, {b.rules, 200}} {
				b.mu.Lock()
				b.rules = step.rules
				b.mu.Unlock()
				if res, text := ask(t, c, http.MethodGet, "https://ok.test/v1/a", nil); res.StatusCode != step.want {
					t.Errorf("%d %q, want %d", res.StatusCode, text, step.want)
				}
			}
			if got := h.conns.Load(); got != 1 {
				t.Errorf("%d connections to the host", got)
			}
		})
	}
}

func TestAnAllowThatCannotBeRecordedDoesNotHappen(t *testing.T) {
	h := newHost(t, []string{"http/1.1"}, nil)
	b := newBox(t, h)
	b.full = true
	if res, _ := ask(t, b.client("http/1.1"), http.MethodGet, "https://ok.test/v1/a", nil); res.StatusCode != 503 || len(h.requests()) > 0 {
		t.Errorf("%d, the host got %q", res.StatusCode, h.requests())
	}
}

// TestAHostThatIsNotItselfHearsNothing covers certificates that are not the host's.
func TestAHostThatIsNotItselfHearsNothing(t *testing.T) {
	for _, protocol := range protocols() {
		h := newHost(t, []string{protocol}, nil, "other.test")
		b := newBox(t, h)
		res, text := ask(t, b.client(protocol), http.MethodGet, "https://ok.test/v1/a", nil)
		if res.StatusCode != 502 || !strings.Contains(text, "the certificate of ok.test is not good") || len(h.requests()) > 0 {
			t.Errorf("%d %q, the host got %q", res.StatusCode, text, h.requests())
		}
		if got := b.recorded(); len(got) != 1 || !strings.HasPrefix(got[0], "deny ") {
			t.Errorf("recorded %q", got)
		}
	}
}

// A program that keeps its connection, as clients of gRPC do, reaches a host that was away for a
// moment: the connection of a failed one ends with the answer that says so.
func TestAHostThatComesBack(t *testing.T) {
	for _, protocol := range protocols() {
		h := newHost(t, []string{protocol}, nil)
		away := &host{addr: "127.0.0.1:1"}
		b := newBox(t, away)
		c := b.client(protocol)
		if res, _ := ask(t, c, http.MethodGet, "https://ok.test/v1/a", nil); res.StatusCode != http.StatusBadGateway {
			t.Errorf("%s, away: %s", protocol, res.Status)
		}
		away.addr = h.addr
		if res, _ := ask(t, c, http.MethodGet, "https://ok.test/v1/a", nil); res.StatusCode != http.StatusOK {
			t.Errorf("%s, back: %s", protocol, res.Status)
		}
	}
}

// TestAProgramWithItsOwnTrustIsRefusedInWords is the record that a person finds.
func TestAProgramWithItsOwnTrustIsRefusedInWords(t *testing.T) {
	b := newBox(t, newHost(t, []string{"h2"}, nil))
	_, err := tls.Dial("tcp", b.addr, &tls.Config{ServerName: "ok.test", RootCAs: x509.NewCertPool()})
	if err == nil {
		t.Fatal("a client without the authority trusts the relay")
	}
	b.serving.Wait()
	if got := b.recorded(); len(got) != 1 || !strings.HasPrefix(got[0], "deny sni the program does not trust the certificate of the sandbox") {
		t.Errorf("recorded %q", got)
	}
}

func TestOnlyHTTPIsSpokenInside(t *testing.T) {
	b := newBox(t, newHost(t, []string{"h2", "http/1.1"}, nil))
	_, err := tls.Dial("tcp", b.addr, &tls.Config{ServerName: "ok.test", RootCAs: b.roots, NextProtos: []string{"imap"}})
	if err == nil {
		t.Fatal("another protocol was agreed on")
	}
	b.serving.Wait()
	if got := b.recorded(); len(got) != 1 || !strings.Contains(got[0], "neither HTTP/1.1 nor HTTP/2") {
		t.Errorf("recorded %q", got)
	}
}

// TestTheAuthorityIsGoodForItsHostsAlone verifies what a thief of the key could make.
func TestTheAuthorityIsGoodForItsHostsAlone(t *testing.T) {
	b := newBox(t, newHost(t, nil, nil), usual, "https://*.wild.test GET /**")
	relay.CheckLeaf(t, b.relay, b.roots, map[string]bool{
		"ok.test": true, "a.wild.test": true, "a.b.wild.test": true,
		"evil.test": false, "notok.test": false, "127.0.0.1": false, "::1": false, "test": false, "*.test": false,
	})
}

func TestHostsThatAreAddedLaterGetAnAuthorityOfTheirOwn(t *testing.T) {
	b := newBox(t, newHost(t, nil, nil))
	for _, step := range []struct {
		entries []string
		want    int // certificates published by then
	}{{[]string{usual}, 1}, {[]string{"https://late.test GET /**"}, 2}, {nil, 2}, {[]string{"https://late.test GET /**", usual}, 2}} {
		if err := b.relay.SetHosts(compile(t, step.entries...).Hosts()); err != nil {
			t.Fatal(err)
		}
		if last := b.published[len(b.published)-1]; strings.Count(last, "BEGIN CERTIFICATE") != step.want {
			t.Errorf("%q: %s", step.entries, last)
		}
	}
	if res, _ := ask(t, b.client("http/1.1"), http.MethodGet, "https://ok.test/v1/a", nil); res.StatusCode != 200 {
		t.Errorf("the first host: %d", res.StatusCode)
	}
}

// TestNothingIsLeft ends clients, hosts and the relay in the middle of streams.
func TestNothingIsLeft(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			begun := make(chan struct{}, 8)
			h := newHost(t, []string{protocol}, func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).Flush()
				begun <- struct{}{}
				<-r.Context().Done()
			})
			b := newBox(t, h)
			var clients sync.WaitGroup
			for range 4 {
				c := b.client(protocol)
				res, err := c.Get("https://ok.test/v1/a")
				if err != nil {
					t.Fatal(err)
				}
				clients.Go(func() { _, _ = io.Copy(io.Discard, res.Body) })
				<-begun
				if protocol == "h2" {
					res.Body.Close()
				}
				c.Transport.(*http.Transport).CloseIdleConnections()
			}
			b.relay.Close()
			clients.Wait()
			b.serving.Wait() // the test's own limit bounds it
		})
	}
}

// TestAConnectionThatSaysNothingEnds is about a client that opens TLS to the
// relay and goes.
func TestAConnectionThatSaysNothingEnds(t *testing.T) {
	b := newBox(t, newHost(t, []string{"h2"}, nil))
	c, err := net.Dial("tcp", b.addr)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	b.dial("h2").Close()
	b.serving.Wait()
}
