package main

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/relay"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/internal/tunnel"
)

// Attack: the process that has keys comes before the firewall is proved. At each call of the packet
// filter's programs, the ones of the proof among them, it is refused; afterwards it is taken.
func TestAttackKeysBeforeTheFirewallIsVerified(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, operationsPolicy)
	steps, answers := fifo(t, b.path("steps")), fifo(t, b.path("answers"))
	only := t.TempDir()
	for _, p := range []string{"mount", "sh", "cat", "unshare"} {
		if err := os.Symlink(testenv.Program(t, p), filepath.Join(only, p)); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{"iptables-nft-restore", "ip6tables-nft-restore", "iptables-nft-save", "ip6tables-nft-save"} {
		script := fmt.Sprintf("#!/bin/sh\necho %s >%s; read -r answer <%s\nexec %s \"$@\"\n", p, b.path("steps"),
			b.path("answers"), testenv.Program(t, p))
		if err := os.WriteFile(filepath.Join(only, p), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.flags = []string{"--sidecar"}
	cmd := b.command()
	cmd.Env = append(os.Environ(), "PATH="+only)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errOut strings.Builder
	cmd.Stderr = &errOut
	b.start(cmd)
	lines := make(chan string)
	for _, from := range []io.Reader{steps, out} {
		go func() {
			for s := bufio.NewScanner(from); s.Scan(); {
				lines <- s.Text()
			}
			lines <- "{" // it has ended
		}()
	}
	keys := func() *exec.Cmd {
		return exec.Command(filepath.Join(b.bin, "sbx-init"), "keys", "--audit", b.path("run/audit.jsonl"), `[{"Name": "ok.test", "Port": 443}]`)
	}
	saves := 0
	for {
		line := <-lines
		if strings.HasPrefix(line, "{") { // it says that it is ready
			break
		}
		if strings.HasSuffix(line, "-save") {
			saves++
		}
		if out, err := keys().CombinedOutput(); err == nil || !strings.Contains(string(out), "no firewall answers") {
			t.Errorf("at %s: %v, %s", line, err, out)
		}
		if _, err := io.WriteString(answers, "go\n"); err != nil {
			t.Fatal(err)
		}
	}
	if saves < 2 {
		t.Errorf("%d looks at the rules in force\n%s", saves, errOut.String())
	}
	taken := keys()
	if _, err := taken.StdinPipe(); err != nil { // without an end
		t.Fatal(err)
	}
	said, err := taken.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := taken.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Process.Kill(); _ = taken.Wait() }()
	preface := make([]byte, 3)
	if _, err := io.ReadFull(said, preface); err != nil || string(preface) != "PRI" {
		t.Errorf("afterwards: %q, %v", preface, err)
	}
}

// fifo makes a FIFO and opens it for both directions, so that no side waits for the other.
func fifo(t *testing.T, path string) *os.File {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Attack: the policy of a firewall whose keys are in another process becomes one that lets
// everything out. The key goes with a request before, and with none from then on.
func TestAttackKeysInModeAudit(t *testing.T) {
	const value = "canary-key-5b1e"
	c, _ := newOpenedClients(t, operationsPolicy)
	in := c.web.internet
	var mu sync.Mutex
	var arrived []string
	in.mu.Lock()
	pages := in.pages
	in.pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		arrived = append(arrived, r.URL.Path+" "+r.Header.Get("Authorization"))
		mu.Unlock()
		pages.ServeHTTP(w, r)
	})
	in.mu.Unlock()

	asked := []credential.Binding{{Name: "K", For: "https://ok.test"}}
	bindings, _, err := credential.Bind(asked, []string{"https://ok.test GET,HEAD / /npm/**"})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := credential.Fill(bindings, map[string]string{"K": value})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if pem, err := os.ReadFile(c.web.ca); err != nil || !roots.AppendCertsFromPEM(pem) {
		t.Fatal(err)
	}
	server := relay.NewKeyServer(keys, func() (*x509.CertPool, error) { return roots, nil }, func(_, _, _ string) {})
	t.Cleanup(func() { server.Close() })
	give := func() (*exec.Cmd, net.Conn, *bytes.Buffer) {
		cmd := c.box.initCommand("keys", "--audit", c.box.path("run/audit.jsonl"), `[{"Name": "ok.test", "Port": 443}]`)
		errOut := new(bytes.Buffer)
		cmd.Stderr = errOut
		to, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		from, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, tunnel.NewConn(struct {
			io.Reader
			io.WriteCloser
		}{from, to}), errOut
	}
	taken, stream, _ := give()
	defer func() { _ = taken.Process.Kill(); _ = taken.Wait() }()
	go server.Serve(stream)
	<-server.Ready()

	mustResolve(t, in, c.box, "ok.test")
	c.sh("curl -sS --max-time 10 https://ok.test/").mustExit(t, 0)
	c.box.write("policy.jsonc", strings.Replace(operationsPolicy, `"allow"`, `"mode": "audit", "allow"`, 1))
	c.box.ask("reload").mustExit(t, 0)
	c.sh("curl -sS --max-time 10 https://ok.test/npm/audit").mustExit(t, 0)
	if cmd, _, said := give(); cmd.Wait() == nil || !strings.Contains(said.String(), "mode is audit") {
		t.Errorf("keys are taken in mode audit: %s", said)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"/ Bearer " + value, "/npm/audit "}; !slices.Equal(arrived, want) {
		t.Errorf("arrived %q, want %q", arrived, want)
	}
}
