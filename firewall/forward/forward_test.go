package forward_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/forward"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

const (
	token  = "token-of-this-test-0123456789"
	canary = "canary-key-of-the-forward-proxy-7c1e"
	limit  = 30 * time.Second
)

// site is a host with the names ok.test and other.test, at a port of its own. It notes what
// arrives: "METHOD HOST PATH key|none".
type site struct {
	port  uint16
	roots *x509.CertPool

	mu      sync.Mutex
	arrived []string
}

func newSite(t *testing.T, handle http.HandlerFunc) *site {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{"ok.test", "other.test"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{roots: x509.NewCertPool()}
	s.roots.AddCert(certificate)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		with := "none"
		if r.Header.Get("Authorization") != "" {
			with = r.Header.Get("Authorization")
		}
		s.mu.Lock()
		s.arrived = append(s.arrived, fmt.Sprintf("%s %s %s %s", r.Method, r.Host, r.URL.Path, with))
		s.mu.Unlock()
		handle(w, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	s.port = uint16(server.Listener.Addr().(*net.TCPAddr).Port)
	return s
}

func (s *site) came() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.arrived)
}

// fixture is a proxy and what its clients need.
type fixture struct {
	site  *site
	proxy string // its URL with the token
	addr  string
	ca    string // a file

	mu      sync.Mutex
	records []string
	used    []string
}

// start serves entries. The site stands in for port 443 of loopback. The names lead to addrs.
func start(t *testing.T, s *site, key string, addrs []string, private []string, entries ...string) *fixture {
	t.Helper()
	f := &fixture{site: s, ca: filepath.Join(t.TempDir(), "ca.pem")}
	policy, bad := firewall.NewPolicy(firewall.Network{Mode: firewall.ModeAllowlist, Allow: entries, Private: private})
	if bad != nil {
		t.Fatal(bad)
	}
	o := forward.Options{
		Policy: policy, Token: token, Roots: func() (*x509.CertPool, error) { return s.roots, nil },
		Publish: func(certificates []byte) error { return os.WriteFile(f.ca, certificates, 0o600) },
		Record: func(r audit.Record) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.records = append(f.records, fmt.Sprintf("%s %s %s", r.Verdict, r.Name, r.Why()))
			return nil
		},
		Resolve: func(context.Context, string) (all []netip.Addr, err error) {
			for _, a := range addrs {
				all = append(all, netip.MustParseAddr(a))
			}
			return all, nil
		},
	}
	o.Connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		if to.Port() != 443 {
			return nil, errors.New("not 443")
		}
		return new(net.Dialer).DialContext(ctx, "tcp", netip.AddrPortFrom(to.Addr(), s.port).String())
	}
	if key != "" {
		used, unused, err := credential.Bind([]credential.Binding{{Name: "K", For: key}}, entries)
		if err != nil || len(unused) > 0 {
			t.Fatal(unused, err)
		}
		if o.Keys, err = credential.Fill(used, map[string]string{"K": canary}); err != nil {
			t.Fatal(err)
		}
		o.Used = func(name, _, operation string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.used = append(f.used, name+": "+operation)
		}
	}
	proxy, err := forward.New(o)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(func() { _ = proxy.Close(); front.Close() })
	f.addr = front.Listener.Addr().String()
	f.proxy = "http://sbx:" + token + "@" + f.addr
	return f
}

// loopback is where the site is, which a policy must name as private.
var loopback, ours = []string{"127.0.0.1"}, []string{"ok.test", "other.test"}

// run runs a program that knows of the proxy by its variables.
func (f *fixture) run(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	home := filepath.Dir(f.ca)
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = home
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "https_proxy=" + f.proxy, "http_proxy=" + f.proxy, "LC_ALL=C",
		"CURL_CA_BUNDLE=" + f.ca, "GIT_SSL_CAINFO=" + f.ca, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), canary) {
		t.Errorf("%s %q saw the key", name, args)
	}
	return string(out), err
}

// curl does what the entries name, with the key, and nothing else.
func TestAttackCurlThroughTheForwardProxy(t *testing.T) {
	testenv.Program(t, "curl")
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "fine ", r.Header.Get("Authorization")) })
	f := start(t, s, "https://ok.test GET,POST /v1/**", loopback, ours, "https://ok.test GET,POST /v1/**", "https://ok.test GET /open/**")
	site := "https://ok.test"
	for path, want := range map[string]string{"/v1/a": "fine", "/open/a": "fine ", "/v2/a": "refused: no entry allows GET /v2/a at ok.test"} {
		if out, err := f.run(t, "curl", "-sS", "--max-time", "20", site+path); err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v %s", path, err, out)
		}
	}
	for name, args := range map[string][]string{
		"another host":      {"https://evil.test/v1/a"},
		"another port":      {"https://ok.test:1/v1/a"},
		"an address":        {"-k", "https://127.0.0.1/v1/a"},
		"an IPv6 address":   {"-k", "https://[::1]/v1/a"},
		"the address below": {"-k", "--connect-to", "ok.test:443:127.0.0.1:443", site + "/v1/a"},
		"Host in TLS":       {"-f", "-H", "Host: other.test", site + "/v1/a"},
		"without TLS":       {"-f", "http://ok.test/v1/a"},
		"a wrong token":     {"-x", "http://sbx:" + token + "x@" + f.addr, site + "/v1/a"},
		"no token":          {"-x", "http://" + f.addr, site + "/v1/a"},
		"another method":    {"-f", "-X", "DELETE", site + "/v1/a"},
	} {
		if out, err := f.run(t, "curl", append([]string{"-sS", "--max-time", "20"}, args...)...); err == nil {
			t.Errorf("%s: %s", name, out)
		}
	}
	want := []string{"GET ok.test /open/a none", "GET ok.test /v1/a Bearer " + canary}
	if got := s.came(); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("came %q", got)
	}
	if !slices.Equal(f.used, []string{"K: GET /v1/a"}) {
		t.Errorf("used %q", f.used)
	}
}

// Attack: names that lead to an address that the policy does not allow for them, as this
// machine's own or a cloud's metadata service.
func TestAttackANameLeadsInside(t *testing.T) {
	testenv.Program(t, "curl")
	s := newSite(t, func(http.ResponseWriter, *http.Request) {})
	for _, addr := range []string{"127.0.0.1", "::ffff:127.0.0.1", "169.254.169.254", "10.0.0.1", "::1"} {
		f := start(t, s, "", []string{addr}, nil, "https://ok.test GET /v1/**")
		out, err := f.run(t, "curl", "-sS", "--max-time", "20", "https://ok.test/v1/a")
		if err != nil || !strings.Contains(out, "could not be reached") {
			t.Errorf("%s: %v %s", addr, err, out)
		}
	}
	if got := s.came(); len(got) != 0 {
		t.Errorf("came %q", got)
	}
}

// Git works with the repository that an entry names, and pushes to the refs that it names.
func TestAttackGitThroughTheForwardProxy(t *testing.T) {
	testenv.Program(t, "git")
	root := t.TempDir()
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		(&cgi.Handler{Path: "/bin/sh", Args: []string{"-c", "exec git http-backend"}, Dir: root, Env: []string{
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=agent", "PATH=" + os.Getenv("PATH"),
		}}).ServeHTTP(w, r)
	})
	f := start(t, s, "git:ok.test/acme/app", loopback, ours, "git:ok.test/acme/app push refs/heads/agent/*")
	must := func(args ...string) string {
		t.Helper()
		out, err := f.run(t, "git", args...)
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(out)
	}
	for _, name := range []string{"acme/app.git", "acme/other.git"} {
		must("init", "-q", "--bare", "-b", "main", filepath.Join(root, name))
		must("-C", filepath.Join(root, name), "config", "http.receivepack", "true")
	}
	remote := "https://ok.test/acme/"
	must("clone", "-q", remote+"app.git", "work")
	must("-C", "work", "commit", "-q", "--allow-empty", "-m", "one")
	must("-C", "work", "push", "-q", "origin", "HEAD:refs/heads/agent/x")
	for _, args := range [][]string{
		{"-C", "work", "push", "origin", "HEAD:refs/heads/main"}, {"-C", "work", "push", remote + "other.git", "HEAD:refs/heads/agent/x"},
		{"ls-remote", remote + "other.git"},
	} {
		if out, err := f.run(t, "git", args...); err == nil {
			t.Errorf("git %q: %s", args, out)
		}
	}
	if got := must("-C", filepath.Join(root, "acme/app.git"), "for-each-ref", "--format=%(refname)"); got != "refs/heads/agent/x" {
		t.Errorf("refs %q", got)
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+canary))
	for _, request := range s.came() {
		if !strings.Contains(request, " /acme/app.git/") || !strings.HasSuffix(request, basic) {
			t.Errorf("came %q", request)
		}
	}
}

// Attack: CONNECT with an authority that can be read in two ways, another Host, an SNI of
// another host, bytes ahead of the answer.
func TestAttackConnectInTwoReadings(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fine") })
	f := start(t, s, "", loopback, ours, "https://ok.test GET /v1/**")
	const port = "443"
	credentials := "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("sbx:"+token)) + "\r\n"
	connect := func(head string) (net.Conn, *http.Response) {
		t.Helper()
		conn, err := net.Dial("tcp", f.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(limit))
		if _, err := io.WriteString(conn, head); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), &http.Request{Method: http.MethodConnect})
		if err != nil {
			t.Fatal(err)
		}
		return conn, res
	}
	for _, authority := range []string{
		"evil.test:" + port, "ok.test", "ok.test:", "ok.test:0", "ok.test:99999", "ok.test@evil.test:" + port,
		"127.0.0.1:" + port, "[::1]:" + port,
		"[::ffff:127.0.0.1]:" + port, "2130706433:" + port, "0x7f000001:" + port, "ok.test.evil.test:" + port, "ok.test%00.evil.test:" + port,
		"localhost:" + port, "*.test:" + port,
	} {
		if _, res := connect("CONNECT " + authority + " HTTP/1.1\r\nHost: ok.test:" + port + "\r\n" + credentials +
			"\r\n"); res.StatusCode < 400 {
			t.Errorf("%s: %s", authority, res.Status)
		}
	}
	for name, c := range map[string]struct{ host, sni, inside string }{
		"honest": {"ok.test", "ok.test", "ok.test"}, "Host of CONNECT": {"evil.test", "ok.test", "ok.test"},
		"SNI": {"ok.test", "other.test", "ok.test"}, "Host in TLS": {"ok.test", "ok.test", "other.test"},
		"both": {"ok.test", "other.test", "other.test"},
	} {
		conn, res := connect("CONNECT ok.test:" + port + " HTTP/1.1\r\nHost: " + c.host + ":" + port + "\r\n" + credentials + "\r\n")
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", name, res.Status)
			continue
		}
		in := tls.Client(conn, &tls.Config{ServerName: c.sni, InsecureSkipVerify: true})
		_, _ = fmt.Fprintf(in, "GET /v1/%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", strings.ReplaceAll(name, " ", "-"), c.inside)
		text, _ := io.ReadAll(in)
		if fine := strings.HasSuffix(string(text), "fine"); fine != (c.inside == "ok.test") {
			t.Errorf("%s: %s", name, text)
		}
	}
	for _, request := range s.came() {
		if !strings.HasPrefix(request, "GET ok.test ") {
			t.Errorf("came %q", request)
		}
	}
}

func TestForwardProxiesThatCannotBe(t *testing.T) {
	policy := func(n firewall.Network) *firewall.Policy {
		p, bad := firewall.NewPolicy(n)
		if bad != nil {
			t.Fatal(bad)
		}
		return p
	}
	typed := firewall.Network{Mode: firewall.ModeAllowlist, Allow: []string{"https://ok.test GET /**"}}
	audited, plain := typed, firewall.Network{Mode: firewall.ModeAllowlist, Allow: []string{"ok.test"}}
	audited.Mode = firewall.ModeAudit
	for want, o := range map[string]forward.Options{
		"is for mode allowlist":          {Policy: policy(audited), Token: token},
		"no entry about operations":      {Policy: policy(plain), Token: token},
		"the forward proxy's token is t": {Policy: policy(typed), Token: "short"},
	} {
		if _, err := forward.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
