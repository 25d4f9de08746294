package relay_test

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/org/claude-sandbox/firewall/relay"
	"github.com/org/claude-sandbox/internal/cabundle"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

const nodeThroughAProxy = `node -e '
	const tls = require("tls"), url = new URL(process.argv[1]), proxy = new URL(process.env.https_proxy)
	require("http").request({host: proxy.hostname, port: proxy.port, method: "CONNECT", path: ` +
	`url.hostname + ":443"}).on("connect", (_, socket) => {
		const s = tls.connect({socket, servername: url.hostname}, () => s.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
		s.on("error", e => { console.error(String(e)); process.exit(1) }).pipe(process.stdout)
	}).end()' "$URL"`

const javaThroughAProxy = `cat >Get.java <<'END'
class Get { public static void main(String[] a) throws Exception { System.out.write(new java.net.URL(a[0]).openStream().readAllBytes()); ` +
	`System.out.flush(); } }
END
java -Dhttps.proxyHost="${PROXY%:*}" -Dhttps.proxyPort="${PROXY#*:}" Get.java "$URL"`

const aiohttpThroughAProxy = `/usr/bin/python3 -c '
import asyncio, aiohttp, sys
async def main():
    async with aiohttp.ClientSession(trust_env=True) as s:
        async with s.get(sys.argv[1]) as r:
            print(await r.text())
asyncio.run(main())' "$URL"`

// trusting are programs with stores of their own kind, each with the script by which it asks
// for $URL.
var trusting = map[string]struct{ program, script string }{
	"curl (OpenSSL)":  {"curl", `curl -sS "$URL"`},
	"git (GnuTLS)":    {"git", `git ls-remote "$URL"`},
	"wget (GnuTLS)":   {"wget", `wget -qO- "$URL"`},
	"node":            {"node", nodeThroughAProxy},
	"deno (rustls)":   {"deno", `deno eval 'console.log(await (await fetch(Deno.env.get("URL"))).text())'`},
	"bun (BoringSSL)": {"bun", `bun -e 'console.log(await (await fetch(process.env.URL)).text())'`},
	"uv (rustls)":     {"uv", `uv pip install -q --python /usr/bin/python3 --no-cache --target py --index-url "$URL" demo`},
	"pip":             {"pip3", `pip3 install -q --target py --index-url "$URL" demo`},
	"python":          {"python3", `python3 -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1])' "$URL"`},
	"python's requests": {"/usr/lib/python3/dist-packages/requests/__init__.py",
		`/usr/bin/python3 -c 'import sys, requests; requests.get(sys.argv[1])' "$URL"`},
	"python's httpx": {"/usr/lib/python3/dist-packages/httpx/__init__.py",
		`/usr/bin/python3 -c 'import sys, httpx; httpx.get(sys.argv[1])' "$URL"`},
	"python's aiohttp": {"/usr/lib/python3/dist-packages/aiohttp/__init__.py", aiohttpThroughAProxy},
	"ruby":             {"ruby", `http_proxy="$https_proxy" ruby -rnet/http -e 'Net::HTTP.get(URI(ARGV[0]))' "$URL"`},
	"php's curl":       {"php", `php -r '$c = curl_init(getenv("URL")); curl_exec($c) || exit(curl_error($c));'`},
	"java":             {"javac", javaThroughAProxy},
	"go": {"go",
		`GOPROXY="$URL" GONOSUMDB='*' GOFLAGS=-mod=mod GOPATH="$PWD/go" GOTOOLCHAIN=local go mod download -x demo.test/m@v1.0.0`},
	"cargo (libcurl)": {"cargo",
		`mkdir .cargo src && touch src/lib.rs && printf '[registries.r]\nindex = "sparse+%s"\n[net]\nretry = 0\n' "$URL" >.cargo/config.toml ` +
			`&& printf '[package]\nname = "m"\nversion = "1.0.0"\n[dependencies]\nd = { version = "1", registry = "r" }\n' >Cargo.toml && ` +
			`CARGO_HOME="$PWD/home" cargo fetch`},
}

// Attack: somebody has the key by which the sandbox's TLS is opened, and stands in the way to
// other hosts. Programs that trust the sandbox's certificate, as they do inside, say nothing
// there, whichever library judges certificates for them. To an opened host they speak.
func TestAttackTheAuthorityElsewhere(t *testing.T) {
	b := newBox(t, newHost(t, nil, nil))
	dir := t.TempDir()
	own := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(own, []byte(strings.Join(b.published, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cabundle.Write(filepath.Join(dir, "trust"), own, dir); !errors.Is(err, cabundle.ErrNoBundle) {
		t.Fatal(err)
	}
	for name, program := range trusting {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !filepath.IsAbs(program.program) {
				testenv.Program(t, program.program)
			} else if _, err := os.Stat(program.program); err != nil {
				testenv.Missing(t, program.program, err.Error())
			}
			for host, heard := range map[string]bool{"ok.test": true, "evil.test": false} {
				arrived, said := askByProgram(t, relay.Forge(t, b.relay, host), filepath.Join(dir, "trust"), host, program.script)
				if arrived != heard {
					t.Errorf("%s heard the program: %v, want %v\n%s", host, arrived, heard, said)
				}
			}
		})
	}
}

// askByProgram has a script ask for a host that has this certificate, and reports whether a
// request came.
func askByProgram(t *testing.T, certificate tls.Certificate, trust, host, script string) (arrived bool, said string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int64
	server := &http.Server{
		Handler:   http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}, ErrorLog: quiet,
	}
	go func() { _ = server.ServeTLS(l, "", "") }()
	defer server.Close()
	proxy := tunnelTo(t, l.Addr().String())
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{
		"PATH=" + filepath.Join(testenv.ToolsDir(), "bin") + ":" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "LANG=C.UTF-8",
		"URL=https://" + host + "/", "PROXY=" + strings.TrimPrefix(proxy, "http://"),
		"https_proxy=" + proxy, "HTTPS_PROXY=" + proxy, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "PIP_RETRIES=0",
		"PIP_BREAK_SYSTEM_PACKAGES=1", "UV_HTTP_RETRIES=0",
		"RUSTUP_HOME=" + rustupHome(),
	}
	for _, v := range cabundle.Variables() {
		cmd.Env = append(cmd.Env, strings.Replace(v, cabundle.Folder, trust, 1))
	}
	out, _ := cmd.CombinedOutput() // most do not like the empty answer
	return requests.Load() > 0, string(out)
}

// rustupHome is where rustup, if it is there, has its toolchains.
func rustupHome() string {
	if home := os.Getenv("RUSTUP_HOME"); home != "" {
		return home
	}
	home, _ := os.UserHomeDir()
	return filepath.Join(home, ".rustup")
}
