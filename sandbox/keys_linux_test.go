package sandbox

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// TestAttackKeyInARun is a run with git's entry for a private repository and a key for
// it. Git inside clones and pushes and has no credential. No other repository gets the
// key, and it is nowhere in either container: not in the configuration, the
// environment, a file, an answer, a record or the memory of a process.
func TestAttackKeyInARun(t *testing.T) {
	t.Parallel()
	e := connect(t)
	docker := testenv.Program(t, "docker")
	const key = "canary-key-0d5b1f6a93c7e248"
	pair := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + key))
	root := t.TempDir()
	for _, name := range []string{"acme/app.git", "acme/other.git"} {
		for _, args := range [][]string{{"init", "-q", "--bare", "-b", "main", name}, {"-C", name, "config", "http.receivepack", "true"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir = root
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	s := newSites(t, e, "git.sandbox-lab.test")
	var mu sync.Mutex
	var keyed []string // paths to which a credential came
	s.handle = func(w http.ResponseWriter, r *http.Request) {
		_, password, ok := r.BasicAuth()
		if ok {
			mu.Lock()
			keyed = append(keyed, r.URL.Path)
			mu.Unlock()
		}
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		if password != key {
			w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		(&cgi.Handler{Path: "/bin/sh", Args: []string{"-c", "exec git http-backend"}, Dir: root, Env: []string{
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=agent", "PATH=" + os.Getenv("PATH")}}).ServeHTTP(w, r)
	}
	o := s.defaultsHere()
	o.Command = shell(`
		cd /tmp && export GIT_TERMINAL_PROMPT=0 GIT_TRACE_CURL=/tmp/trace GIT_TRACE_REDACT=0 marker=positive-control-4e7d
		git clone -q https://git.sandbox-lab.test/acme/app.git app && cd app &&
		git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m one && git push -q origin HEAD:refs/heads/agent/x && echo PUSHED
		git push -q origin HEAD:refs/heads/main; git push -q https://git.sandbox-lab.test/acme/other.git HEAD:refs/heads/agent/x
		curl -sS -i 'https://git.sandbox-lab.test/acme/app.git/info/refs?service=git-upload-pack' -H 'Authorization: ` +
		`Basic YWdlbnQ6YWdlbnQ=' | tr -d '\0'
		for socket in $(tr -s ' ' '\n' < /proc/net/unix | grep -a keys); do echo "SOCKET $socket"; done
		part='canary-key-0d5b[1]f6a93c7e248'
		cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\0' '\n' | grep -a "$part" && echo FOUND
		grep -ra "$part" /etc /home /run /tmp /var /workspace 2>/dev/null && echo FOUND
		echo ready; cat`).Command
	o.User.Network.Allow = []string{"git:git.sandbox-lab.test/acme/app push refs/heads/agent/*",
		"git:git.sandbox-lab.test/acme/other push refs/heads/agent/*"}
	o.User.Secrets = []settings.Secret{{Name: "app", From: "env:APP_KEY", For: "git:git.sandbox-lab.test/acme/app"}}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.ca)
	prompt, finish := io.Pipe()
	tr := &trial{options: o, prompt: prompt, secrets: map[string]string{"app": key},
		roots: func() (*x509.CertPool, error) { return roots, nil }}
	tr.during = func(p *runplan.Plan, _ *workspace.Workspace) {
		defer finish.Close()
		for _, name := range []string{p.Sidecar.Name, p.Agent.Name} {
			text, err := exec.Command(docker, "inspect", name).CombinedOutput()
			if err != nil || bytes.Contains(text, []byte(key)) {
				t.Errorf("docker inspect %s shows the key, %v", name, err)
			}
		}
		control := map[string]string{p.Sidecar.Name: "git.sandbox-lab.test", p.Agent.Name: "positive-control-4e7d"}
		for name, known := range control {
			found := enginetest.SearchMemory(t, docker, name, known, key, pair)
			if !found[known] || found[key] || found[pair] {
				t.Errorf("in the memory of %s: %v", name, found)
			}
		}
	}
	tr.run(t, e)
	out := tr.stdout.String() + tr.stderr.String()
	if tr.err != nil || !strings.Contains(out, "PUSHED") {
		t.Errorf("%v\n%s", tr.err, out)
	}
	if said := strings.Join(tr.said, "\n"); !strings.Contains(said, "the key app went with ") {
		t.Errorf("said:\n%s", said)
	}
	if notes := strings.Join(tr.result.Notes, "\n"); strings.Contains(notes, "the key app") {
		t.Errorf("the use of the key is in the notes, too:\n%s", notes)
	}
	var report strings.Builder
	if err := tr.result.Egress.WriteText(&report); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 went: git push git.sandbox-lab.test/acme/app refs/heads/agent/x\n",
		"1 refused: git push git.sandbox-lab.test/acme/app refs/heads/main\n",
	} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("no %q in the report:\n%s", want, report.String())
		}
	}
	for _, bad := range []string{"FOUND", key, pair, "SOCKET"} {
		if strings.Contains(out, bad) {
			t.Errorf("inside there is %q:\n%s", bad, out)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if slices.ContainsFunc(keyed, func(path string) bool { return !strings.HasPrefix(path, "/acme/app.git/") }) {
		t.Errorf("a credential came to %q", keyed)
	}
	refs, err := exec.Command("git", "-C", filepath.Join(root, "acme/app.git"), "for-each-ref", "--format=%(refname)").Output()
	if err != nil || string(refs) != "refs/heads/agent/x\n" {
		t.Errorf("%q, %v", refs, err)
	}
	folder := filepath.Dir(tr.result.Files.Summary)
	for _, file := range []string{tr.result.Files.Audit, tr.result.Files.Summary, filepath.Join(folder, KeysFile)} {
		if text, err := os.ReadFile(file); err != nil || bytes.Contains(text, []byte(key)) || bytes.Contains(text, []byte(pair)) {
			t.Errorf("%s shows the key, %v", file, err)
		}
	}
}
