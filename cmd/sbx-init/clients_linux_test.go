package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	claudecode "github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/firewall/guard"
	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// clients is a sandbox in which real programs speak to the web, as the agent.
type clients struct {
	t    testing.TB
	web  *web
	box  *box
	work string
	env  []string
	sees map[string]string // folders of this machine that are closed to others -> where in the box the agent has them
}

// newClients also gives the programs a hosts file that puts evil.test on
// ok.test's address: they then believe it to be there, and ask for it.
func newClients(t testing.TB) *clients {
	t.Helper()
	in := newInternet(t)
	c := &clients{t: t, web: newWeb(t, in), box: newBox(t, in.Sandbox, guardPolicy)}
	c.prepare()
	startSidecar(t, c.box)
	mustResolve(t, in, c.box, "ok.test")
	return c
}

// prepare gives the programs their files and variables.
func (c *clients) prepare() {
	t := c.t
	t.Helper()
	c.work = c.box.path("work")
	c.box.write("hosts", "127.0.0.1 localhost\n"+okAddr+" evil.test\n")
	c.env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin:" + filepath.Dir(testenv.Program(t, "go")), "HOME=" + c.work, "TMPDIR=" + c.work, "LANG=C.UTF-8",
		"SSL_CERT_FILE=" + c.web.ca, "CURL_CA_BUNDLE=" + c.web.ca, "GIT_SSL_CAINFO=" + c.web.ca, "NODE_EXTRA_CA_CERTS=" + c.web.ca,
		"PIP_CERT=" + c.web.ca, "NPM_CONFIG_CAFILE=" + c.web.ca, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"NPM_CONFIG_AUDIT=false", "NPM_CONFIG_FUND=false", "NPM_CONFIG_FETCH_RETRIES=0", "NPM_CONFIG_UPDATE_NOTIFIER=false",
		"PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_RETRIES=0", "PIP_NO_CACHE_DIR=1", "PIP_BREAK_SYSTEM_PACKAGES=1",
		"GOFLAGS=-mod=mod -modcacherw", "GONOSUMDB=*", "GOTOOLCHAIN=local", "GOPATH=" + c.work + "/go", "GOCACHE=" + c.work + "/gocache",
	}
}

// sh runs a script as the agent, in a folder of its own, with the box's
// resolv.conf and hosts in the places of the machine's.
func (c *clients) sh(script string) result {
	c.t.Helper()
	wrap := `mount --bind "$0/resolv.conf" /etc/resolv.conf && mount --bind "$0/hosts" /etc/hosts && `
	for from, to := range c.sees {
		wrap += "mount --bind '" + from + "' '" + to + "' && "
	}
	wrap += `exec setpriv --reuid 54321 --regid 54321 --clear-groups --no-new-privs sh -c 'cd "$(mktemp -d)" && eval "$0"' "$1"`
	cmd := exec.Command("unshare", "--mount", "sh", "-c", wrap, c.box.dir, script)
	cmd.Dir = c.work
	cmd.Env = c.env
	return c.box.finish(cmd)
}

// show lets the agent see a folder of this machine that may be closed to others, and
// returns where; "" when there is none.
func (c *clients) show(folder string) string {
	c.t.Helper()
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return ""
	}
	to := c.box.path(fmt.Sprintf("shown%d", len(c.sees)))
	if err := os.Mkdir(to, 0o755); err != nil {
		c.t.Fatal(err)
	}
	if c.sees == nil {
		c.sees = map[string]string{}
	}
	c.sees[folder] = to
	return to
}

// needs ends the test when the agent cannot run the program: what is installed
// for root alone is no client.
func (c *clients) needs(t testing.TB, program string) {
	t.Helper()
	if c.sh("command -v "+program).code == 0 {
		return
	}
	testenv.Missing(t, program, "a client to try the guard with")
}

const nodeGet = `node -e '
	require(process.argv[1].split(":")[0]).get(process.argv[1], r => { r.pipe(process.stdout) })
		.on("error", e => { console.error(String(e)); process.exit(1) })' `

const nodeWebSocket = `node -e '
	const r = require(process.argv[1].split(":")[0]).get(process.argv[1], {headers: {Connection: "Upgrade", Upgrade: "websocket", ` +
	`"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13"}})
	r.on("upgrade", (reply, socket) => {
		let got = ""
		socket.on("data", d => { got += d; if (got.length >= 19) { console.log(got); process.exit(0) } })
		socket.write("any bytes "); setTimeout(() => socket.write("in frames"), 20)
	}).on("response", r => { console.error("no upgrade:", r.statusCode); process.exit(1) })
		.on("error", e => { console.error(String(e)); process.exit(1) })' `

const javaGet = `cat >Get.java <<'END'
import java.io.*; import java.net.*; import java.net.http.*; import java.security.*; import java.security.cert.*; import javax.net.ssl.*;
class Get { public static void main(String[] a) throws Exception {
	KeyStore s = KeyStore.getInstance(KeyStore.getDefaultType()); s.load(null, null);
	s.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(new ` +
	`FileInputStream(System.getenv("SSL_CERT_FILE"))));
	TrustManagerFactory f = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm()); f.init(s);
	SSLContext c = SSLContext.getInstance("TLS"); c.init(null, f.getTrustManagers(), null);
	HttpClient h = HttpClient.newBuilder().sslContext(c).build();
	for (String u : a) System.out.print(h.send(HttpRequest.newBuilder(URI.create(u)).build(), HttpResponse.BodyHandlers.ofString()).body());
} }
END
java Get.java `

// Programs that people use reach an allowed site as if nothing stood between.
func TestRealClientsWork(t *testing.T) {
	c := newClients(t)
	for name, tt := range map[string]struct {
		program, script string
		says            []string
	}{
		"curl": {"curl", "curl -sS https://ok.test/ --http1.1; curl -sS https://ok.test/ --http2; curl -sS http://ok.test/ http://ok.test/",
			[]string{"HTTP/1.1\n", "HTTP/2.0\n"}},
		"git": {"git",
			`git clone -q https://ok.test/repo.git clone && cat clone/file && cd clone && head -c 3000000 /dev/urandom >big && git add big &&
			git -c user.name=n -c user.email=e@test commit -qm two && git push -q origin HEAD:refs/heads/pushed && git ls-remote origin && git ` +
				`clone -q http://ok.test/repo.git ../plain`,
			[]string{"refs/heads/pushed"}},
		"npm": {"npm",
			"npm init -y >/dev/null && npm install --registry https://ok.test/npm/ demo && cat node_modules/demo/index.js", nil},
		"pip": {"pip3", "pip3 install -q --index-url https://ok.test/simple/ --target py demo && python3 py/demo.py", nil},
		"go": {"go",
			"go mod init x 2>/dev/null && GOPROXY=https://ok.test/go go mod download -json ok.test/mod@v1.0.0 && cat " +
				"$GOPATH/pkg/mod/ok.test/mod@v1.0.0/mod.go", nil},
		"node":             {"node", nodeGet + "https://ok.test/ && " + nodeGet + "http://ok.test/", nil},
		"WebSocket":        {"node", nodeWebSocket + "http://ok.test/ws && echo " + fileMarker, []string{"any bytes in frames"}},
		"WebSocket in TLS": {"node", nodeWebSocket + "https://ok.test/ws && echo " + fileMarker, []string{"any bytes in frames"}},
		"java":             {"javac", javaGet + "https://ok.test/ https://ok.test/ http://ok.test/", []string{"HTTP/2.0\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.needs(t, tt.program)
			r := c.sh(tt.script)
			if r.code != 0 || !strings.Contains(r.stdout, fileMarker) {
				t.Errorf("exit %d\nstdout: %s\nstderr: %s", r.code, r.stdout, r.stderr)
			}
			for _, want := range tt.says {
				if !strings.Contains(r.stdout, want) {
					t.Errorf("it does not say %q: %s", want, r.stdout)
				}
			}
		})
	}
	c.web.mustNotReach(t)
}

// The screen of a person when the guard refuses: an error at once, in the words of
// their program, and nothing that looks like success.
func TestRealClientsAreToldOfARefusal(t *testing.T) {
	c := newClients(t)
	for name, tt := range map[string]struct{ program, script, says string }{
		"curl":          {"curl", "curl -sS https://evil.test/", "access denied"},
		"curl, in HTTP": {"curl", "curl -sS --fail-with-body http://evil.test/", `add this line to "allow" in sandbox.jsonc: "evil.test"`},
		"git":           {"git", "git clone https://evil.test/repo.git", "fatal: unable to access"},
		"git, in HTTP":  {"git", "git clone http://evil.test/repo.git", "403"},
		"npm":           {"npm", "npm init -y >/dev/null && npm install --registry https://evil.test/npm/ demo", "access denied"},
		"pip":           {"pip3", "pip3 install --index-url https://evil.test/simple/ --target py demo", "ACCESS_DENIED"},
		"go":            {"go", "go mod init x 2>/dev/null; GOPROXY=https://evil.test/go go mod download ok.test/mod@v1.0.0", "access denied"},
		"node":          {"node", nodeGet + "https://evil.test/", "access denied"},
		"java":          {"javac", javaGet + "https://evil.test/", "access_denied"},
	} {
		t.Run(name, func(t *testing.T) {
			c.needs(t, tt.program)
			r := c.sh(tt.script)
			if r.code == 0 || strings.Contains(r.stdout, fileMarker) {
				t.Errorf("it succeeds: %s", r.stdout)
			}
			if !strings.Contains(r.stdout+r.stderr, tt.says) {
				t.Errorf("it does not say %q\nstdout: %s\nstderr: %s", tt.says, r.stdout, r.stderr)
			}
			t.Log(strings.TrimSpace(r.stdout + r.stderr))
		})
	}
	c.web.mustNotReach(t)
}

// refusedAgent runs in the sandbox as the agent. It tries what is refused in
// every way there is and prints how long the answer took and what it was.
func refusedAgent() {
	try := func(what string, f func(time.Time) error) {
		start := time.Now()
		err := f(start.Add(5 * time.Second))
		fmt.Printf("%s: %d µs: %v\n", what, time.Since(start).Microseconds(), err)
	}
	try("name", func(time.Time) error {
		_, err := net.DefaultResolver.LookupHost(context.Background(), "evil.test.")
		return err
	})
	for what, addr := range map[string]string{"address": evilAddr + ":443", "IPv6 address": "[" + evilAddr6 + "]:443",
		"port": okAddr + ":8443"} {
		try(what, func(deadline time.Time) error {
			conn, err := (&net.Dialer{Deadline: deadline}).Dial("tcp", addr)
			if err == nil {
				conn.Close()
			}
			return err
		})
	}
	for what, addr := range map[string]string{"QUIC": okAddr + ":443", "QUIC elsewhere": evilAddr + ":443",
		"QUIC over IPv6": "[" + okAddr6 + "]:443"} {
		try(what, func(deadline time.Time) error {
			conn, err := net.Dial("udp", addr)
			if err != nil {
				return err
			}
			defer conn.Close()
			_ = conn.SetDeadline(deadline)
			if _, err := conn.Write(make([]byte, 1200)); err != nil {
				return err
			}
			_, err = conn.Read(make([]byte, 1))
			return err
		})
	}
	try("site in TLS", func(deadline time.Time) error {
		conn, err := tls.DialWithDialer(&net.Dialer{Deadline: deadline}, "tcp", okAddr+":443", &tls.Config{ServerName: "evil.test"})
		if err == nil {
			conn.Close()
		}
		return err
	})
	try("site in HTTP", func(deadline time.Time) error {
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+okAddr+"/", nil)
		if err != nil {
			return err
		}
		r.Host = "evil.test"
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		reply.Body.Close()
		return errors.New(reply.Status)
	})
}

// No client waits for a refusal: a client that falls back, from QUIC for
// one, does so at once.
func TestRefusalsComeAtOnce(t *testing.T) {
	in := newInternet(t)
	newWeb(t, in)
	b := newBox(t, in.Sandbox, guardPolicy)
	r := b.sh("getent hosts ok.test ok6.test >/dev/null; " + agentEnv + "=refused " + b.bin + "/agent")
	r.mustExit(t, 0)
	t.Log(r.stdout)
	for what, says := range map[string]string{
		"name": "lookup evil.test.", "address": "connection refused", "IPv6 address": "connection refused", "port": "connection refused",
		"QUIC": "", "QUIC elsewhere": "", "QUIC over IPv6": "", "site in TLS": "access denied", "site in HTTP": "403 Forbidden",
	} {
		i := slices.IndexFunc(strings.Split(r.stdout, "\n"), func(line string) bool { return strings.HasPrefix(line, what+": ") })
		if i < 0 {
			t.Errorf("%s was not tried", what)
			continue
		}
		line := strings.Split(r.stdout, "\n")[i]
		if strings.Contains(line, "timeout") || strings.HasSuffix(line, "<nil>") || !strings.Contains(line, says) {
			t.Errorf("not refused at once: %s", line)
		}
	}
	in.mustNotReach(t)
}

// claude is the program at a place where the agent can run it: root's folders
// are closed to it.
func (c *clients) claude() string {
	c.t.Helper()
	real, err := filepath.EvalSymlinks(testenv.Program(c.t, "claude"))
	if err != nil {
		c.t.Fatal(err)
	}
	program := c.box.path("claude")
	if out, err := exec.Command("sh", "-c", `ln "$0" "$1" 2>/dev/null || cp "$0" "$1"`, real, program).CombinedOutput(); err != nil {
		c.t.Fatalf("putting claude where the agent can run it: %v: %s", err, out)
	}
	c.env = append(c.env, claudecode.Env(claudecode.EnvOptions{BaseURL: "https://ok.test/model", SessionToken: "token", MaxRetries: 1})...)
	return program
}

// mustHaveTold errs when the model did not get the text.
func (w *web) mustHaveTold(t testing.TB, text string) {
	t.Helper()
	if !slices.ContainsFunc(w.model.Requests(), func(q fakeapi.Request) bool { return strings.Contains(q.Body, text) }) {
		t.Errorf("%q did not reach the model in %d requests", text, len(w.model.Requests()))
	}
}

// Claude Code itself, whose model is behind the guard. It is told how refusals
// look before it meets one.
func TestRealClaudeWorksThroughTheGuard(t *testing.T) {
	c := newClients(t)
	command := c.claude()
	for _, a := range (claudecode.Headless{AppendSystemPrompt: claudecode.NetworkNotice}).Args() {
		command += " '" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	r := c.sh("echo hello | " + command)
	r.mustExit(t, 0)
	r.mustSay(t, "[scripted] through the guard")
	c.web.mustNotReach(t)
	if !slices.ContainsFunc(c.web.requests(), func(s string) bool { return strings.HasSuffix(s, ":443/ok.test") }) {
		t.Error("the model was not asked through the guard")
	}
	c.web.mustHaveTold(t, guard.HeaderRefused)
}

// In a dev container people start claude themselves; what the Templates' image
// tells it comes from the file that their Dockerfile writes.
func TestRealClaudeIsToldInADevContainer(t *testing.T) {
	dockerfile, err := os.ReadFile("../../templates/src/claude/.devcontainer/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	c := newClients(t)
	program := c.claude()
	step := ""
	for paragraph := range strings.SplitSeq(string(dockerfile), "\n\n") {
		if _, command, ok := strings.Cut(paragraph, "RUN "); ok && strings.Contains(command, "/etc/claude-code/CLAUDE.md") {
			step = strings.ReplaceAll(command, "/etc/claude-code", "etc/claude-code")
		}
	}
	// The step runs in a folder that then lies over /etc.
	const wrap = `cd "$0" && eval "$1" && mount -t overlay overlay -o lowerdir="$0/etc":/etc /etc && mount --bind ` +
		`"$0/resolv.conf" /etc/resolv.conf &&
		cd work && exec setpriv --reuid 54321 --regid 54321 --clear-groups --no-new-privs sh -c 'echo hello | exec "$0" -p' "$2"`
	cmd := exec.Command("unshare", "--mount", "sh", "-c", wrap, c.box.dir, step, program)
	cmd.Env = c.env
	r := c.box.finish(cmd)
	r.mustExit(t, 0)
	c.web.mustHaveTold(t, guard.HeaderRefused)
}
