package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/enginetest"
)

// keyedSite is a site with repositories and an API, which takes a key and says it again.
type keyedSite struct {
	root string
	key  string

	mu   sync.Mutex
	came []string // the path of each request, and the credential that came with it
}

// newKeyedSite serves allowed.example at port 443 of an address, and returns its authority.
func newKeyedSite(t *testing.T, addr, key string) (s *keyedSite, authority []byte) {
	t.Helper()
	s = &keyedSite{root: t.TempDir(), key: key}
	for _, name := range []string{"acme/app.git", "acme/other.git"} {
		for _, args := range [][]string{{"init", "-q", "--bare", "-b", "main", name}, {"-C", name, "config", "http.receivepack", "true"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir = s.root
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(addr, "443"))
	if err != nil {
		t.Fatal(err)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the world's"}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"allowed.example"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, own, own, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: s}}
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return s, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func (s *keyedSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, password, _ := r.BasicAuth()
	sent := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if password != "" {
		sent = password
	}
	s.mu.Lock()
	s.came = append(s.came, r.URL.Path+" "+sent)
	s.mu.Unlock()
	w.Header().Set("X-Echo", r.Header.Get("Authorization"))
	w.Header().Set("Set-Cookie", "session=begun")
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/"):
		fmt.Fprintf(w, "hello, you sent %q\n", r.Header.Get("Authorization"))
	case password != s.key:
		w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
		http.Error(w, "who are you", http.StatusUnauthorized)
	default:
		(&cgi.Handler{Path: "/bin/sh", Args: []string{"-c", "exec git http-backend"}, Dir: s.root, Env: []string{
			"GIT_PROJECT_ROOT=" + s.root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=agent", "PATH=" + os.Getenv("PATH")}}).ServeHTTP(w, r)
	}
}

// keyed are the paths to which the key came since the last call.
func (s *keyedSite) keyed() (paths []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.came {
		if path, sent, _ := strings.Cut(one, " "); strings.Contains(sent, s.key) && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	s.came = nil
	return paths
}

const (
	strictKey  = "canary-key-5c81d07be2f94a36"
	strictPush = "git:allowed.example/acme/app push refs/heads/agent/*"
	strictAPI  = "https://allowed.example GET,POST /api/**"
)

// addKeys gives the project keys for a private repository and for a path of an API, by a
// variable of the firewall's container.
func (p *strictProject) addKeys(authority []byte) {
	p.t.Helper()
	p.edit("sandbox.jsonc", `"allow": [`, `"allow": ["`+strictPush+`", "git:allowed.example/acme/other", "`+strictAPI+`", `)
	p.edit("sandbox.jsonc", `"network": {`, `"secrets": [
    {"name": "app", "from": "env:APP_KEY", "for": "git:allowed.example/acme/app"},
    {"name": "api", "from": "env:APP_KEY", "for": "`+strictAPI+`"},
    {"name": "none", "from": "env:NO_KEY", "for": "git:allowed.example/acme/other"},
    {"name": "vault", "from": "op://Dev/app/token", "for": "git:allowed.example/acme/other"}],
  "network": {`)
	p.edit("compose.yaml", "    mem_limit: 512m\n", "    mem_limit: 512m\n    environment: {APP_KEY: \"${APP_KEY:-}\"}\n")
	p.edit("Dockerfile", "# Last, so that an edit rebuilds only this.",
		"COPY world.crt /usr/local/share/ca-certificates/world.crt\nRUN update-ca-certificates")
	if err := os.WriteFile(filepath.Join(p.dir, ".devcontainer", "world.crt"), authority, 0o644); err != nil {
		p.t.Fatal(err)
	}
	p.env = []string{"APP_KEY=" + strictKey}
}

// testStrictKeys: git inside clones and pushes and has no credential. No other request gets
// a key, and it is nowhere in the agent's container.
func testStrictKeys(t *testing.T, p *strictProject, site *keyedSite) {
	const key = strictKey
	pair := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + key))
	said, _ := p.try(p.docker, "logs", p.service("firewall"))
	for _, want := range []string{"without the key none: the variable NO_KEY of the firewall's container has no value",
		"without the key vault: its value is from op:, and in a dev container from a variable (env:NAME) alone"} {
		if !strings.Contains(said, want) {
			t.Errorf("the firewall does not say %q:\n%s", want, said)
		}
	}

	site.keyed()
	out, err := p.exec(`cd /tmp && export GIT_TERMINAL_PROMPT=0 GIT_TRACE_CURL=/tmp/trace GIT_TRACE_REDACT=0
		git clone -q https://allowed.example/acme/app.git app && cd app &&
		git -c user.name=a -c user.email=a@allowed.example commit -q --allow-empty -m one && git push -q origin ` +
		`HEAD:refs/heads/agent/x && echo PUSHED
		curl -sS -i https://allowed.example/api/me; curl -sS -i https://allowed.example/api/me -H 'Range: bytes=0-9' -H 'Authorization: ` +
		`Bearer mine' | grep -v hello`)
	if err != nil || !strings.Contains(out, "PUSHED") || !strings.Contains(out, "hello, you sent") {
		t.Errorf("%v\n%s", err, out)
	}
	if got := site.keyed(); !slices.Contains(got, "/api/me") || !slices.Contains(got, "/acme/app.git/git-receive-pack") {
		t.Errorf("the key came to %q", got)
	}
	if strings.Contains(strings.ToLower(out), "set-cookie") {
		t.Errorf("a session comes back:\n%s", out)
	}
	out2, _ := p.exec(`cd /tmp/app; export GIT_TERMINAL_PROMPT=0
		git push -q origin HEAD:refs/heads/main; git ls-remote https://allowed.example/acme/other.git; ` +
		`git push -q https://allowed.example/acme/other.git HEAD:refs/heads/agent/x
		curl -sS https://allowed.example/v2/me; curl -sS -X DELETE https://allowed.example/api/me; ` +
		`curl -sS https://allowed.example/api/../acme/other.git/info/refs --path-as-is
		curl -sS -k --resolve evil.example:443:` + p.world.addr + ` https://evil.example/api/me -H 'Host: allowed.example'
		part='canary-key-5c81d07be2f[9]4a36'
		cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\0' '\n' | grep -a "$part" && echo FOUND
		grep -ras "$part" /etc /home /run /tmp /var /ready /source /usr/local && echo FOUND
		mkdir -p .devcontainer && echo '{"secrets": [{"name": "app", "from": "env:APP_KEY", "for": "git:allowed.example/acme/other"}]}' ` +
		`>.devcontainer/sandbox.jsonc
		git ls-remote https://allowed.example/acme/other.git; echo x >/source/.devcontainer/sandbox.jsonc; ` +
		`echo x >/ready/ca.pem && echo FOUND; true`)
	if got := site.keyed(); slices.ContainsFunc(got, func(path string) bool { return !strings.HasPrefix(path, "/acme/app.git/") }) {
		t.Errorf("the key came to %q", got)
	}
	status := p.must(p.docker, "exec", p.service("firewall"), "sbx-init", "status", "--json")
	records := p.must(p.docker, "exec", p.service("firewall"), "sbx-init", "log", "--json")
	agent := p.must(p.docker, "inspect", p.service("agent"))
	for where, text := range map[string]string{"an answer": out, "the container": out2, "the status": status, "the records": records,
		"the firewall's log": said, "docker inspect of the agent": agent} {
		for _, bad := range []string{"FOUND", key, pair} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q:\n%s", where, bad, text)
			}
		}
	}
	if !strings.Contains(status, `"keys":[{"name":"app"`) {
		t.Errorf("no key in the status: %s", status)
	}
	found := enginetest.SearchMemory(t, p.docker, p.service("agent"), "SBX_WAIT_FOR", key, pair)
	if !found["SBX_WAIT_FOR"] || found[key] || found[pair] {
		t.Errorf("in the memory of the agent's container: %v", found)
	}

	var report bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &report, stderr: &report, getenv: os.Getenv}
	if code := a.main(t.Context(), []string{"report", p.dir}); code != 0 {
		t.Errorf("report: exit %d: %s", code, &report)
	}
	for _, want := range []string{"1 went: git push allowed.example/acme/app refs/heads/agent/x\n",
		"1 refused: git push allowed.example/acme/app refs/heads/main\n"} {
		if !strings.Contains(report.String(), want) || strings.Contains(report.String(), key) {
			t.Errorf("no %q in the report:\n%s", want, &report)
		}
	}

	const asks = "curl -sS https://allowed.example/api/me; true"
	change := func(command, entry string) {
		t.Helper()
		var out bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: os.Getenv}
		if code := a.main(t.Context(), append(strings.Fields(command), "--project", p.dir, entry)); code != 0 {
			t.Fatalf("%s: exit %d: %s", command, code, &out)
		}
	}
	change("allow --remove", "https://allowed.example GET,POST /api/**")
	change("allow", "https://allowed.example GET /**")
	if out, err := p.exec(asks); err != nil || !strings.Contains(out, "hello") || len(site.keyed()) > 0 {
		t.Errorf("the key's entry is gone: %v %s", err, out)
	}
	change("allow --remove", "https://allowed.example GET /**")
	change("allow", "https://allowed.example GET,POST /api/**")
	if out, err := p.exec(asks); err != nil || !strings.Contains(out, "hello") || len(site.keyed()) == 0 {
		t.Errorf("the key's entry came back: %v %s", err, out)
	}
}
