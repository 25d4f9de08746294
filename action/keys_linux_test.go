package action_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

const (
	appToken = "canary-key-0d5b1f6a93c7e248"
	gitSite  = "githost"         // as the id of a service of the job
	apiSite  = "ghe.example.com" // a GitHub of one's own
)

// gitHost is a stand-in of a host of repositories, acme/app and acme/other, and of its API for
// pull requests, on a network of the engine's, as the services of a job are. On port 5432
// anyone gets an answer.
type gitHost struct {
	network, root, ca string

	mu     sync.Mutex
	keyed  []string // paths of repositories to which the token came
	called []string // requests to the API, with their bodies
}

func newGitHost(t *testing.T) *gitHost {
	t.Helper()
	testenv.Root(t)
	bridgeGateway(t) // an engine is there
	h := &gitHost{network: fmt.Sprintf("sbx-action-test-%d", os.Getpid()), root: t.TempDir()}
	for _, name := range []string{"acme/app.git", "acme/other.git"} {
		command(t, h.root, "git", "init", "-q", "--bare", "-b", "main", name)
		command(t, h.root, "git", "-C", name, "config", "http.receivepack", "true")
	}
	remove := func(args ...string) {
		t.Cleanup(func() {
			if out, err := exec.Command("docker", args...).CombinedOutput(); err != nil {
				t.Errorf("docker %v: %v: %s", args, err, out)
			}
		})
	}
	command(t, h.root, "docker", "network", "create", h.network)
	remove("network", "rm", h.network)
	if out, err := exec.Command("docker", "image", "inspect", "debian:bookworm-slim").CombinedOutput(); err != nil {
		testenv.Missing(t, "debian:bookworm-slim", string(out))
	}
	command(t, h.root, "docker", "run", "-d", "--name", h.network, "--network", h.network, "--network-alias", gitSite, "--network-alias",
		apiSite, "--network-alias", "db", "debian:bookworm-slim", "sleep", "infinity")
	remove("rm", "-f", h.network)
	pid := strings.TrimSpace(command(t, h.root, "docker", "inspect", "--format", "{{.State.Pid}}", h.network))
	listener, err := listenIn("/proc/"+pid+"/ns/net", ":443")
	if err != nil {
		t.Fatal(err)
	}
	database, err := listenIn("/proc/"+pid+"/ns/net", ":5432")
	if err != nil {
		t.Fatal(err)
	}
	plain := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("SERVICE-ANSWERS\n"))
	})}
	t.Cleanup(func() { _ = plain.Close() })
	go func() { _ = plain.Serve(database) }()
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	t.Cleanup(func() { _ = server.Close() })
	certificate := h.certificate(t)
	go func() {
		_ = server.Serve(tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}}))
	}()
	return h
}

func (h *gitHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path, api := strings.CutPrefix(r.URL.Path, "/api/v3"); api {
		h.call(w, r, path)
		return
	}
	_, password, _ := r.BasicAuth()
	if password != appToken {
		w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	}
	h.mu.Lock()
	h.keyed = append(h.keyed, r.URL.Path)
	h.mu.Unlock()
	w.Header().Set("X-Echo", r.Header.Get("Authorization"))
	(&cgi.Handler{Path: "/bin/sh", Args: []string{"-c", "exec git http-backend"}, Dir: h.root, Env: []string{
		"GIT_PROJECT_ROOT=" + h.root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=agent", "PATH=" + os.Getenv("PATH")}}).ServeHTTP(w, r)
}

// call answers as the API does, to whoever has the token.
func (h *gitHost) call(w http.ResponseWriter, r *http.Request, path string) {
	body, err := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.called = append(h.called, fmt.Sprintf("%s %s %s %s %v", r.Method, r.Host, path, body, err))
	if r.Header.Get("Authorization") != "Bearer "+appToken {
		http.Error(w, `{"message":"Requires authentication"}`, http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"number":5,"html_url":"https://%s/acme/app/pull/5","said":%q}`, apiSite, r.Header.Get("Authorization"))
}

// certificate makes one that its own file certifies.
func (h *gitHost) certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: gitSite}, DNSNames: []string{gitSite, apiSite}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	h.ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(h.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// listenIn listens in a network namespace.
func listenIn(namespace, address string) (l net.Listener, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		var f *os.File
		if f, err = os.Open(namespace); err != nil {
			return
		}
		defer f.Close()
		if err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err == nil {
			l, err = net.Listen("tcp4", address)
		}
	}()
	<-done
	return l, err
}

// Attack: the agent pushes and opens a pull request with a token of the step's, tries more
// with it, and looks for it everywhere. It goes with what the entries allow, and is nowhere in
// the sandbox, outputs, summary, report or log.
func TestAttackKeyOfTheActionUnderAct(t *testing.T) {
	act := testenv.Program(t, "act")
	host := newGitHost(t)
	bin, err := program()
	if err != nil {
		t.Fatal("building sbx-devc: ", err)
	}
	api := &fakeapi.Server{APIKey: testKey, Script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{`
		cd /tmp && export GIT_TERMINAL_PROMPT=0
		git clone -q https://` + gitSite + `/acme/app.git app && cd app &&
		git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m one && git push -q origin ` +
		`HEAD:refs/heads/agent/x && echo PUSH''ED
		git push -q origin HEAD:refs/heads/main; git push -q https://` + gitSite + `/acme/other.git HEAD:refs/heads/agent/x
		curl -sS -i 'https://` + gitSite + `/acme/app.git/info/refs?service=git-upload-pack' | tr -d '\0'
		call() { curl -sS -X "$1" -H 'Content-Type: application/json' -H 'Authorization: Bearer none' "https://` + apiSite +
		`/api/v3$2" -d "$3"; echo; }
		call POST /repos/acme/app/pulls '{"title":"t","head":"agent/x","base":"main"}'
		call POST /repos/acme/app/pulls '{"title":"t","head":"evil:agent/x","base":"main"}'
		call POST /repos/acme/other/pulls '{"title":"t","head":"agent/x","base":"main"}'
		call PUT /repos/acme/app/pulls/5/merge '{}'
		call POST /repos/acme/app/issues '{"title":"t"}'
		call POST /gists '{"files":{"a":{"content":"b"}}}'
		curl -sS http://db:5432/; curl -sS -m 5 http://db:5433/
		part='canary-key-0d5b[1]f6'
		(cat /proc/*/environ /proc/*/cmdline; grep -ra "$part" /etc /home /run /tmp /var /workspace) 2>/dev/null | grep -ac ` +
		`"$part" | sed s/^/times:/`}}},
		Final: "done"}}
	server := httptest.NewServer(api)
	defer server.Close()
	in := actIn{dir: t.TempDir(), act: act, env: []string{"SSL_CERT_FILE=" + host.ca, "CLAUDE_SANDBOX_BIN=" + bin},
		secrets: []string{"APP_TOKEN=" + appToken}}
	in.during = func() {
		deadline := time.Now().Add(2 * time.Minute)
		for len(api.Requests()) == 0 && time.Now().Before(deadline) {
			time.Sleep(20 * time.Millisecond)
		}
		names := strings.Fields(command(t, in.dir, "docker", "ps", "-q", "--filter", "network="+host.network))
		for _, name := range names {
			if text := command(t, in.dir, "docker", "inspect", name); strings.Contains(text, appToken) {
				t.Errorf("docker inspect shows the token:\n%s", text)
			}
		}
		if len(names) < 2 { // the host, and the firewall
			t.Errorf("containers: %q", names)
		}
	}
	r := in.run(t, server.URL, `          services_network: `+host.network+`
          allowed_domains: |
            git:`+gitSite+`/acme/app push refs/heads/agent/*
            git:`+gitSite+`/acme/other push refs/heads/agent/*
            db:5432
            github:`+apiSite+`/acme/app pulls.create, issues.comment
          private_domains: `+apiSite+`
          keys: |
            API=env:APP_TOKEN for github:`+apiSite+`/acme/app
            PUSH=env:APP_TOKEN for git:`+gitSite+`/acme/app # and no other repository
        env:
          APP_TOKEN: ${{ secrets.APP_TOKEN }}
`)
	if r.outcome != "success" || !strings.Contains(r.transcript, "PUSHED") || !strings.Contains(r.transcript, "times:0") ||
		!strings.Contains(r.transcript, "SERVICE-ANSWERS") {
		t.Errorf("outcome %q, outputs %v\n%s\n%s", r.outcome, r.outputs, r.transcript, r.log)
	}
	if strings.Count(r.summary, "key PUSH") != 1 || !strings.Contains(r.summary, "git push "+gitSite+"/acme/app") {
		t.Errorf("the summary does not say what went with the key:\n%s", r.summary)
	}
	host.mu.Lock()
	defer host.mu.Unlock()
	if slices.ContainsFunc(host.keyed, func(path string) bool { return !strings.HasPrefix(path, "/acme/app.git/") }) || len(host.keyed) == 0 {
		t.Errorf("the token came to %q", host.keyed)
	}
	if want := []string{
		`POST ` + apiSite + ` /repos/acme/app/pulls {"title":"t","head":"agent/x","base":"main"} <nil>`}; !slices.Equal(host.called, want) {
		t.Errorf("the API was called:\n%s", strings.Join(host.called, "\n"))
	}
	if !strings.Contains(r.transcript, "/acme/app/pull/5") || strings.Count(r.summary, "key API") != 1 {
		t.Errorf("the pull request is not there:\n%s\n%s", r.transcript, r.summary)
	}
	if refs := command(t, host.root, "git", "-C", "acme/app.git", "for-each-ref", "--format=%(refname)"); refs != "refs/heads/agent/x\n" {
		t.Errorf("refs: %q", refs)
	}
	pair := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + appToken))
	shown := map[string]string{"the summary": r.summary, "the outputs": fmt.Sprint(r.outputs),
		"the transcript": r.transcript, "the log": r.log}
	_ = filepath.WalkDir(filepath.Join(in.dir, "results", "report"), func(name string, d fs.DirEntry, err error) error {
		if text, err := os.ReadFile(name); err == nil {
			shown[name] = string(text)
		}
		return nil
	})
	if len(shown) < 7 {
		t.Errorf("the report folder was not searched: %d texts", len(shown))
	}
	for name, text := range shown {
		for line := range strings.Lines(text) {
			if strings.Contains(line, pair) || strings.Contains(line, appToken) && !strings.Contains(line, `"command":"add-mask"`) {
				t.Errorf("%s shows the token: %.300s", name, line)
			}
		}
	}
}
