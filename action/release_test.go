package action_test

import (
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// released is the Action as the commit of a release has it, with a server that stands
// for the host of the release, and a runner.
type released struct {
	bash                string
	folder, cache, temp string // of the Action, the runner's tool cache, its temporary folder
	address             string // of the server
	program             []byte // what the release has
	answer              func(w http.ResponseWriter, r *http.Request)
	asked               atomic.Int32
}

const releasedPath = "Some/claude-sandbox/releases/download/v1.2.3/sbx-devc-linux-"

func newReleased(t testing.TB) *released {
	t.Helper()
	dir := t.TempDir()
	r := &released{
		bash:   testenv.Program(t, "bash"),
		folder: filepath.Join(dir, "action"), cache: filepath.Join(dir, "cache"), temp: filepath.Join(dir, "temp"),
		program: []byte("#!/bin/sh\necho the program\n"),
	}
	r.answer = func(w http.ResponseWriter, req *http.Request) {
		if !strings.HasPrefix(req.URL.Path, "/"+releasedPath) {
			http.NotFound(w, req)
			return
		}
		_, _ = w.Write(r.program)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.asked.Add(1)
		r.answer(w, req)
	}))
	t.Cleanup(server.Close)
	r.address = server.URL
	for _, name := range []string{"install.sh", "lib/fetch.sh"} {
		write(t, filepath.Join(r.folder, "scripts", name), read(t, filepath.Join("..", "scripts", name)))
	}
	r.pin(t, "v1.2.3")
	for _, dir := range []string{r.cache, r.temp} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// pin writes the sums of the program as it is now.
func (r *released) pin(t testing.TB, version string) {
	t.Helper()
	sum := sha256.Sum256(r.program)
	var lines strings.Builder
	for _, arch := range []string{"amd64", "arm64"} {
		fmt.Fprintf(&lines, "%x  %s%s\n", sum, strings.Replace(releasedPath, "v1.2.3", version, 1), arch)
	}
	write(t, filepath.Join(r.folder, "scripts", "release.sums"), lines.String())
}

// install runs the Action's first step and returns the program that it names.
func (r *released) install(t testing.TB, env ...string) (bin, log, outputs string, err error) {
	t.Helper()
	output := filepath.Join(t.TempDir(), "output")
	cmd := exec.Command(r.bash, filepath.Join(r.folder, "scripts", "install.sh"))
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "GITHUB_OUTPUT=" + output, "RUNNER_TOOL_CACHE=" + r.cache, "RUNNER_TEMP=" + r.temp,
		"CLAUDE_SANDBOX_MIRROR=" + r.address,
	}, env...)
	text, err := cmd.CombinedOutput()
	written, _ := os.ReadFile(output)
	if m := regexp.MustCompile(`(?m)^bin=(.*)$`).FindSubmatch(written); m != nil {
		bin = string(m[1])
	}
	return bin, string(text), string(written), err
}

// mustInstall checks that the named program is the release's.
func (r *released) mustInstall(t *testing.T, env ...string) (bin, log string) {
	t.Helper()
	bin, log, _, err := r.install(t, env...)
	if err != nil {
		t.Fatalf("%v: %s", err, log)
	}
	if out, err := exec.Command(bin).CombinedOutput(); err != nil || string(out) != "the program\n" {
		t.Fatalf("%s: %v: %s", bin, err, out)
	}
	return bin, log
}

func write(t testing.TB, file, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// files lists the plain files below the folders.
func files(t *testing.T, folders ...string) string {
	t.Helper()
	return command(t, "/", "find", append(folders, "!", "-type", "d")...)
}

func TestInstallOfARelease(t *testing.T) {
	r := newReleased(t)
	bin, log := r.mustInstall(t)
	if !strings.HasPrefix(bin, r.cache+"/claude-sandbox/1.2.3/") || !strings.Contains(log, "downloaded sbx-devc v1.2.3") {
		t.Errorf("%s: %s", bin, log)
	}
	// The second use in a job, and every later job of the machine.
	if again, log := r.mustInstall(t); again != bin || log != "" || r.asked.Load() != 1 {
		t.Errorf("%s: %q, the server was asked %d times", again, log, r.asked.Load())
	}
	// No network at all.
	if again, _ := r.mustInstall(t, "CLAUDE_SANDBOX_MIRROR=http://127.0.0.1:1"); again != bin {
		t.Error(again)
	}
	if got := files(t, r.cache, r.temp); got != bin+"\n" {
		t.Errorf("left: %s", got)
	}
	// A runner without a tool cache, or with one that belongs to somebody else.
	bin, _ = r.mustInstall(t, "RUNNER_TOOL_CACHE=")
	if !strings.HasPrefix(bin, r.temp) {
		t.Error(bin)
	}
}

// Somebody else's job on a self-hosted runner wrote to the tool cache.
func TestAttackThePoisonedToolCache(t *testing.T) {
	r := newReleased(t)
	bin, _ := r.mustInstall(t)
	evil := filepath.Join(t.TempDir(), "evil")
	write(t, evil, "#!/bin/sh\necho evil\n")
	for name, poison := range map[string]func() error{
		"other bytes": func() error { return os.WriteFile(bin, []byte("#!/bin/sh\necho evil\n"), 0o755) },
		"half of it":  func() error { return os.Truncate(bin, 5) },
		"a link":      func() error { return os.Symlink(evil, bin) },
		// The right bytes for now.
		"a link to the program": func() error { write(t, evil, string(r.program)); return os.Symlink(evil, bin) },
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "a link") {
				if err := os.Remove(bin); err != nil {
					t.Fatal(err)
				}
			}
			if err := poison(); err != nil {
				t.Fatal(err)
			}
			again, log := r.mustInstall(t)
			if info, err := os.Lstat(again); err != nil || !info.Mode().IsRegular() || again != bin {
				t.Errorf("%s: %v, %v", again, info, err)
			}
			if !strings.Contains(log, "is not the program that is pinned; it is replaced") {
				t.Errorf("log: %s", log)
			}
		})
	}
}

// A release that cannot be installed leaves nothing, and the workflow's page says what to do.
func TestAttackTheReleaseIsNotTheOneThatIsPinned(t *testing.T) {
	half := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("#!/bin/sh\n"))
	}
	for name, c := range map[string]struct {
		version, mirror string
		answer          http.HandlerFunc
		want            []string
	}{
		"other bytes": {answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("#!/bin/sh\necho evil\n")) },
			want: []string{"is pinned; nothing was installed", "do not use it, and report it"}},
		"nothing":            {answer: func(http.ResponseWriter, *http.Request) {}, want: []string{"is pinned; nothing was installed"}},
		"half":               {answer: half, want: []string{"could not be fetched: curl: (18)"}},
		"a tag that is none": {version: "v9.9.9", want: []string{"/v9.9.9/", "is not there", "name another version"}},
		"a failing server":   {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, want: []string{"403"}},
		"no server": {mirror: "http://127.0.0.1:1",
			want: []string{"could not be fetched: curl: (7)", "HTTPS_PROXY", "CLAUDE_SANDBOX_MIRROR"}},
		"no such scheme": {mirror: "file:///etc", want: []string{"could not be fetched: curl: (1)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReleased(t)
			if c.answer != nil {
				r.answer = c.answer
			}
			if c.version != "" {
				r.pin(t, c.version)
			}
			env := []string{}
			if c.mirror != "" {
				env = append(env, "CLAUDE_SANDBOX_MIRROR="+c.mirror)
			}
			bin, log, outputs, err := r.install(t, env...)
			if err == nil || bin != "" || !strings.HasPrefix(outputs, "conclusion=setup_error\nresult=") || strings.Count(outputs, "\n") != 2 {
				t.Errorf("%v, outputs %q", err, outputs)
			}
			if !strings.HasPrefix(log, "::error title=claude-sandbox install::") || strings.Count(log, "\n") != 1 {
				t.Errorf("log: %s", log)
			}
			for _, want := range c.want {
				if !strings.Contains(log, want) {
					t.Errorf("no %q: %s", want, log)
				}
			}
			if left := files(t, r.cache, r.temp); left != "" {
				t.Errorf("left: %s", left)
			}
		})
	}
}

// A host that speaks TLS leads to one that does not, where anybody on the way writes.
func TestAttackTheReleaseLeadsOutOfTLS(t *testing.T) {
	r := newReleased(t)
	server := httptest.NewTLSServer(http.RedirectHandler(r.address+"/"+releasedPath+"amd64", http.StatusFound))
	t.Cleanup(server.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	write(t, authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	_, log, _, err := r.install(t, "CLAUDE_SANDBOX_MIRROR="+server.URL, "CURL_CA_BUNDLE="+authority)
	if err == nil || r.asked.Load() != 0 || !strings.Contains(log, "curl: (1)") {
		t.Errorf("%v, asked %d times: %s", err, r.asked.Load(), log)
	}
}

// An Enterprise Server without a copy of the Action takes it from github.com; here the
// address of github.com is the stand-in's by curl's own configuration.
func TestInstallOfAReleaseNamesTheServer(t *testing.T) {
	r := newReleased(t)
	asked := make(chan string, 10)
	r.answer = func(w http.ResponseWriter, req *http.Request) {
		asked <- req.Method + " " + req.RequestURI
		w.WriteHeader(http.StatusForbidden)
	}
	proxy := "https_proxy=" + r.address
	_, log, _, err := r.install(t, "CLAUDE_SANDBOX_MIRROR=", "GITHUB_SERVER_URL=https://github.example.com", proxy)
	close(asked)
	var hosts []string
	for line := range asked {
		hosts = append(hosts, line)
	}
	if err == nil || strings.Join(hosts, " ") != "CONNECT github.example.com:443 CONNECT github.com:443" ||
		!strings.Contains(log, "https://github.com/"+releasedPath) {
		t.Errorf("%v, asked for %q: %s", err, hosts, log)
	}
}
