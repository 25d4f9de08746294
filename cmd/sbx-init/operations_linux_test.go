package main

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/learn"
	"github.com/org/claude-sandbox/internal/cabundle"
)

// operationsPolicy lets clients read at ok.test, and nothing else.
const operationsPolicy = `{"network": {"allow": [
	"https://ok.test GET,HEAD / /npm/** /repo.git/info/refs", "https://ok.test POST /repo.git/git-upload-pack", ` +
	`"https://ok.test WEBSOCKET /ws",
	"https://ok.test POST /test.Talk/Say"]}}`

// newOpenedClients is newClients where ok.test is opened: the programs trust what
// the firewall publishes, in the files and by the variables that an agent's container
// has, and not the authority that ok.test's certificate is from.
// arrived returns the requests that ok.test got.
func newOpenedClients(t *testing.T, policy string) (c *clients, arrived func() []string) {
	t.Helper()
	in := newInternet(t)
	c = &clients{t: t, web: newWeb(t, in), box: newBox(t, in.Sandbox, policy)}
	var requests []string
	in.mu.Lock()
	pages := in.pages
	in.pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in.mu.Lock()
		requests = append(requests, r.Method+" "+r.Host+r.URL.Path)
		in.mu.Unlock()
		pages.ServeHTTP(w, r)
	})
	in.mu.Unlock()
	c.prepare()
	t.Setenv("SSL_CERT_FILE", c.web.ca) // the firewall's own
	startSidecar(t, c.box)
	trust := c.box.path("trust")
	if err := cabundle.Write(trust, c.box.path("run/ca.pem"), "/"); err != nil {
		t.Fatal(err)
	}
	for i, v := range c.env {
		if name, file, _ := strings.Cut(v, "="); file == c.web.ca {
			c.env[i] = name + "_UNUSED="
		}
	}
	c.env = append(c.env, "NPM_CONFIG_GLOBALCONFIG=/dev/null") // this machine's may name authorities
	for _, v := range cabundle.Variables() {
		c.env = append(c.env, strings.Replace(v, cabundle.Folder, trust, 1))
	}
	return c, func() []string {
		in.mu.Lock()
		defer in.mu.Unlock()
		return slices.Clone(requests)
	}
}

const (
	httpxLibrary    = "/usr/lib/python3/dist-packages/httpx/__init__.py"
	aiohttpLibrary  = "/usr/lib/python3/dist-packages/aiohttp/__init__.py"
	grpcLibrary     = "/usr/lib/python3/dist-packages/grpc/__init__.py"
	requestsLibrary = "/usr/lib/python3/dist-packages/requests/__init__.py"
)

// grpcCalls are two methods of gRPC by its library in C, of which an entry names the first.
const grpcCalls = `/usr/bin/python3 -c '
import grpc
channel = grpc.secure_channel("ok.test:443", grpc.ssl_channel_credentials())
print(channel.unary_unary("/test.Talk/Say")(b"", timeout=20).decode())
try:
    channel.unary_unary("/test.Talk/Delete")(b"", timeout=20)
except grpc.RpcError as e:
    print(e.code(), e.details())'`

const aiohttpGet = `/usr/bin/python3 -c '
import asyncio, aiohttp
async def main():
    async with aiohttp.ClientSession(trust_env=True) as s:
        async with s.get("https://ok.test/") as r:
            print(await r.text())
asyncio.run(main())'`

// Programs that people use do at an opened host what its entries allow, and are told
// in words when they do something else.
func TestRealClientsAtAnOpenedHost(t *testing.T) {
	c, arrived := newOpenedClients(t, operationsPolicy)
	mustResolve(t, c.web.internet, c.box, "ok.test")
	for name, tt := range map[string]struct {
		program, script string
		says            []string
	}{
		"curl": {"curl", "curl -sS https://ok.test/ --http1.1; curl -sS https://ok.test/ --http2",
			[]string{"HTTP/1.1\n", "HTTP/2.0\n", fileMarker}},
		"curl, refused": {"curl", "curl -sS https://ok.test/secret; curl -sS -XDELETE https://ok.test/", []string{
			"claude-sandbox: refused: no entry allows GET /secret at ok.test", `"https://ok.test DELETE /"`}},
		"git": {"git",
			"git clone -q https://ok.test/repo.git clone && cat clone/file && cd clone && git push origin HEAD:refs/heads/stolen 2>&1; true",
			[]string{fileMarker, "403"}},
		"python": {"python3", `python3 -c 'import urllib.request as u; print(u.urlopen("https://ok.test/").read().decode())'`,
			[]string{fileMarker}},
		"npm": {"npm", "npm init -y >/dev/null && npm install --registry https://ok.test/npm/ demo && cat node_modules/demo/index.js",
			[]string{fileMarker}},
		"node's fetch": {"node", `node -e 'fetch("https://ok.test/").then(r => r.text()).then(console.log)'`, []string{fileMarker}},
		"wget":         {"wget", "wget -qO- https://ok.test/", []string{fileMarker}},
		"java": {"javac", `cat >Get.java <<'END'
class Get { public static void main(String[] a) throws Exception {
	System.out.write(new java.net.URL(a[0]).openStream().readAllBytes()); System.out.flush();
} }
END
java Get.java https://ok.test/`, []string{fileMarker}},
		"ruby":          {"ruby", `ruby -rnet/http -e 'puts Net::HTTP.get(URI("https://ok.test/"))'`, []string{fileMarker}},
		"php's streams": {"php", `php -r 'echo file_get_contents("https://ok.test/");'`, []string{fileMarker}},
		"php's curl":    {"php", `php -r '$c = curl_init("https://ok.test/"); curl_exec($c) || print(curl_error($c));'`, []string{fileMarker}},
		"httpx":         {httpxLibrary, `/usr/bin/python3 -c 'import httpx; print(httpx.get("https://ok.test/").text)'`, []string{fileMarker}},
		"aiohttp":       {aiohttpLibrary, aiohttpGet, []string{fileMarker}},
		"requests": {requestsLibrary, `/usr/bin/python3 -c 'import requests; print(requests.get("https://ok.test/").text)'`,
			[]string{fileMarker}},
		"gRPC": {grpcLibrary, grpcCalls,
			[]string{fileMarker, "PERMISSION_DENIED", "claude-sandbox: refused: no entry allows POST /test.Talk/Delete"}},
		"WebSocket":     {"node", nodeWebSocket + "https://ok.test/ws", []string{"any bytes in frames"}},
		"another store": {"curl", "curl -sS --cacert " + c.web.ca + " https://ok.test/ 2>&1; true", []string{"certificate"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.needs(t, tt.program)
			r := c.sh(tt.script)
			if r.code != 0 {
				t.Errorf("exit %d\nstdout: %s\nstderr: %s", r.code, r.stdout, r.stderr)
			}
			for _, want := range tt.says {
				if !strings.Contains(r.stdout, want) {
					t.Errorf("it does not say %q\nstdout: %s\nstderr: %s", want, r.stdout, r.stderr)
				}
			}
		})
	}
	c.web.mustNotReach(t)
	for _, r := range arrived() {
		if strings.HasPrefix(r, "DELETE") || strings.HasPrefix(r, "PUT") || strings.Contains(r, "receive-pack") ||
			strings.HasSuffix(r, "/secret") || strings.HasSuffix(r, "/Delete") {
			t.Errorf("arrived: %s", r)
		}
	}
	records := c.box.records()
	for _, want := range []string{"no entry allows GET /secret at ok.test", "does not trust the certificate of the sandbox"} {
		if !slices.ContainsFunc(records, func(r audit.Record) bool { return r.Verdict == firewall.Deny && strings.Contains(r.Why(), want) }) {
			t.Errorf("no record says %q: %v", want, records)
		}
	}
	if info, err := os.Stat(c.box.path("run/ca.pem")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
}

// Mode audit refuses nothing, and records what the entries would refuse, with the
// narrowest entries that a lesson proposes.
func TestModeAuditRecordsOperations(t *testing.T) {
	c, arrived := newOpenedClients(t, strings.Replace(operationsPolicy, `"allow"`, `"mode": "audit", "allow"`, 1))
	const curl = "curl -sS --max-time 10 "
	r := c.sh(curl + "https://ok.test/; " + curl + "https://ok.test/secret; " + curl + "-XDELETE https://ok.test/; " +
		curl + "-k https://ok.test/evil --connect-to ::" + evilAddr + ":; " + curl + "-k https://" + okAddr + "/bare; " +
		curl + "http://ok.test/plain")
	r.mustExit(t, 0)
	want := []string{"GET ok.test/", "GET ok.test/secret", "DELETE ok.test/", "GET ok.test/evil",
		"GET " + okAddr + "/bare", "GET ok.test/plain"}
	if got := arrived(); !slices.Equal(got, want) {
		t.Errorf("arrived %q, want %q\nstdout: %s\nstderr: %s", got, want, r.stdout, r.stderr)
	}
	network := firewall.Network{Allow: []string{"https://ok.test GET,HEAD / /npm/**"}}
	policy, bad := firewall.NewPolicy(network)
	if bad != nil {
		t.Fatal(bad)
	}
	var added []string
	for _, p := range learn.New(c.box.records(), policy, learn.Options{}).Add {
		added = append(added, p.Entry)
	}
	for _, want := range []string{"https://ok.test GET /secret", "https://ok.test DELETE /"} {
		if !slices.Contains(added, want) {
			t.Errorf("the lesson is %q, which lacks %q", added, want)
		}
	}
}

// An address entry for an address of an opened host leads past the judgement of its
// requests, unless the guard asks whose address it is. Nothing was resolved before.
func TestAttackOperationThroughAnAddressEntry(t *testing.T) {
	policy := strings.Replace(operationsPolicy, `"allow": [`, `"allow": ["`+okAddr+`", "`+otherAddr+`", "`+evilAddr+`:22", `, 1)
	c, arrived := newOpenedClients(t, policy)
	const curl = "curl -sS -k --max-time 10 "
	r := c.sh(`
		` + curl + `https://ok.test/secret --resolve ok.test:443:` + okAddr + `
		` + curl + `https://evil.test/secret --resolve evil.test:443:` + okAddr + `
		` + curl + `https://evil.test/secret -H 'Host: ok.test' --resolve evil.test:443:` + okAddr + `
		` + curl + `https://` + okAddr + `/secret -H 'Host: ok.test'
		` + curl + `http://ok.test/secret --resolve ok.test:80:` + okAddr + `
		` + curl + `http://ok.test:443/secret --resolve ok.test:443:` + okAddr + `
		` + curl + `https://ok.test/secret --resolve ok.test:443:` + otherAddr + `
		` + curl + `https://` + otherAddr + `/bare
		` + curl + `http://` + otherAddr + `/plain
		` + curl + `https://other.test/named --resolve other.test:443:` + otherAddr + `
		` + curl + `http://` + evilAddr + `:22/port
		` + curl + `https://ok.test/ --resolve ok.test:443:` + okAddr)
	r.mustExit(t, 0)
	want := []string{"GET " + otherAddr + "/bare", "GET " + otherAddr + "/plain", "GET other.test/named",
		"GET " + evilAddr + ":22/port", "GET ok.test/"}
	if got := arrived(); !slices.Equal(got, want) {
		t.Errorf("arrived %q, want %q\nstdout: %s\nstderr: %s", got, want, r.stdout, r.stderr)
	}
	if !slices.ContainsFunc(c.box.records(), func(r audit.Record) bool {
		return strings.Contains(r.Why(), "may be an address of ok.test, where entries name operations")
	}) {
		t.Errorf("no record says why: %v", c.box.records())
	}
}

// In one container with the firewall, the command's programs trust what is opened, and
// so do those that an editor starts without the command's environment.
func TestOpenedHostsInOneContainer(t *testing.T) {
	in := newInternet(t)
	w := newWeb(t, in)
	b := newBox(t, in.Sandbox, operationsPolicy)
	authority, err := os.ReadFile(w.ca)
	if err != nil {
		t.Fatal(err)
	}
	certs := b.path("certs")
	if err := os.Mkdir(certs, 0o755); err != nil {
		t.Fatal(err)
	}
	b.write("certs/ca-certificates.crt", string(authority))
	const curl = "curl -sS --max-time 10 "
	cmd := b.command("sh", "-c",
		curl+"https://ok.test/; "+curl+"https://ok.test/secret; ls -l $NODE_EXTRA_CA_CERTS; exec env -i PATH=$PATH "+curl+"https://ok.test/")
	own := slices.IndexFunc(cmd.Args, func(a string) bool { return strings.Contains(a, "mount --bind") })
	// A container has these folders to itself, and this machine is none.
	cmd.Args[own] = strings.Replace(cmd.Args[own], "&& exec",
		"&& mount -t tmpfs none /run && mount --bind '"+certs+"' /etc/ssl/certs && exec", 1)
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool {
		name, file, _ := strings.Cut(v, "=")
		return slices.ContainsFunc(cabundle.Variables(), func(v string) bool { return strings.HasPrefix(v, name+"=") }) ||
			file == "/etc/ssl/certs"
	})
	r := b.finish(cmd)
	r.mustExit(t, 0)
	if got := strings.Count(r.stdout, fileMarker); got != 2 {
		t.Errorf("%d of 2 programs reach the host: %s\n%s", got, r.stdout, r.stderr)
	}
	r.mustSay(t, "refused: no entry allows GET /secret", "-r--r--r--", " root ")
	bundle, err := os.ReadFile(certs + "/ca-certificates.crt")
	if err != nil || strings.Count(string(bundle), "BEGIN CERTIFICATE") != 2 {
		t.Errorf("the system's bundle holds %s, %v", bundle, err)
	}
}
