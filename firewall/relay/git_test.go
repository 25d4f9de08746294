package relay_test

import (
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tunnelTo is a proxy whose every tunnel ends at the relay.
func tunnelTo(t *testing.T, addr string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := net.Dial("tcp", addr)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer out.Close()
		w.WriteHeader(http.StatusOK)
		in, early, err := http.NewResponseController(w).Hijack() // the server may have read a byte already
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer in.Close()
		go func() {
			_, _ = io.Copy(out, early)
			_ = out.(*net.TCPConn).CloseWrite()
		}()
		_, _ = io.Copy(in, out)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Git itself, through the opened TLS, against git's own server: what an entry names
// arrives, also a change of what was pushed before, and nothing else does.
func TestAttackOperationGitThroughTheRelay(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			root, work, home := t.TempDir(), t.TempDir(), t.TempDir()
			h := newHost(t, []string{protocol}, func(w http.ResponseWriter, r *http.Request) {
				(&cgi.Handler{Path: "/bin/sh", Args: []string{"-c", "exec git http-backend"}, Dir: root, Env: []string{
					"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=agent", "PATH=" + os.Getenv("PATH"),
				}}).ServeHTTP(w, r)
			})
			b := newBox(t, h, "git:ok.test/acme/app push refs/heads/agent/*", "git:ok.test/evil/app")
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
					"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
				}
				out, err := cmd.CombinedOutput()
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
			must(root, "init", "-q", "--bare", "-b", "main", "acme/app.git")
			must(root, "init", "-q", "--bare", "-b", "main", "evil/app.git")
			must(work, "clone", "-q", "https://ok.test/acme/app", ".")
			for _, message := range []string{"one", "two"} {
				must(work, "commit", "-q", "--allow-empty", "-m", message)
				must(work, "push", "-q", "origin", "HEAD:refs/heads/agent/x")
			}
			for target, want := range map[string]string{
				"https://ok.test/acme/app HEAD:refs/heads/main":                         "push refs/heads/main",
				"https://ok.test/acme/app HEAD:refs/heads/agent/y HEAD:refs/heads/main": "push refs/heads/main",
				"https://ok.test/evil/app HEAD:refs/heads/agent/x":                      "git:ok.test/evil/app push",
				"https://ok.test/other/app HEAD:refs/heads/agent/x":                     "git:ok.test/other/app push",
				"https://ok.test/acme/app --delete refs/heads/agent/x":                  "no entry allows to delete",
			} {
				out, err := git(work, append([]string{"push"}, strings.Fields(target)...)...)
				if err == nil || !strings.Contains(out, "remote: ") || !strings.Contains(out, want) {
					t.Errorf("%s: %v\n%s", target, err, out)
				}
			}
			want := must(work, "rev-parse", "HEAD") + " commit\trefs/heads/agent/x"
			if got := must(filepath.Join(root, "acme/app.git"), "for-each-ref"); got != want {
				t.Errorf("acme/app has %q, want %q", got, want)
			}
			if got := must(filepath.Join(root, "evil/app.git"), "for-each-ref"); got != "" {
				t.Errorf("evil/app has %q", got)
			}
		})
	}
}
