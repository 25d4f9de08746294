package main

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/cabundle"
)

// operationsPolicy lets clients read at ok.test, and nothing else.
const operationsPolicy = `{"network": {"allow": [
	"https://ok.test GET,HEAD / /npm/** /repo.git/info/refs", "https://ok.test POST /repo.git/git-upload-pack"]}}`

// newOpenedClients is newClients where ok.test is opened: the programs trust what
// the firewall publishes, in the files and by the variables that an agent's container
// has, and not the authority that ok.test's certificate is from.
// arrived returns the requests that ok.test got.
func newOpenedClients(t *testing.T) (c *clients, arrived func() []string) {
	t.Helper()
	in := newInternet(t)
	c = &clients{t: t, web: newWeb(t, in), box: newBox(t, in.Sandbox, operationsPolicy)}
	var requests []string
	in.mu.Lock()
	pages := in.pages
	in.pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in.mu.Lock()
		requests = append(requests, r.Method+" "+r.URL.Path)
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
	mustResolve(t, in, c.box, "ok.test")
	return c, func() []string {
		in.mu.Lock()
		defer in.mu.Unlock()
		return slices.Clone(requests)
	}
}

// Programs that people use do at an opened host what its entries allow, and are told
// in words when they do something else.
func TestRealClientsAtAnOpenedHost(t *testing.T) {
	c, arrived := newOpenedClients(t)
	for name, tt := range map[string]struct {
		program, script string
		says            []string
	}{
		"curl": {"curl", "curl -sS https://ok.test/ --http1.1; curl -sS https://ok.test/ --http2", []string{"HTTP/1.1\n", "HTTP/2.0\n", fileMarker}},
		"curl, refused": {"curl", "curl -sS https://ok.test/secret; curl -sS -XDELETE https://ok.test/", []string{
			"claude-sandbox: refused: no entry allows GET /secret at ok.test", `"https://ok.test DELETE /"`}},
		"git": {"git", "git clone -q https://ok.test/repo.git clone && cat clone/file && cd clone && git push origin HEAD:refs/heads/stolen 2>&1; true",
			[]string{fileMarker, "403"}},
		"python":        {"python3", `python3 -c 'import urllib.request as u; print(u.urlopen("https://ok.test/").read().decode())'`, []string{fileMarker}},
		"npm":           {"npm", "npm init -y >/dev/null && npm install --registry https://ok.test/npm/ demo && cat node_modules/demo/index.js", []string{fileMarker}},
		"node's fetch":  {"node", `node -e 'fetch("https://ok.test/").then(r => r.text()).then(console.log)'`, []string{fileMarker}},
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
		if strings.HasPrefix(r, "DELETE") || strings.HasPrefix(r, "PUT") || strings.Contains(r, "receive-pack") || strings.HasSuffix(r, "/secret") {
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
	cmd := b.command("sh", "-c", curl+"https://ok.test/; "+curl+"https://ok.test/secret; ls -l $NODE_EXTRA_CA_CERTS; exec env -i PATH=$PATH "+curl+"https://ok.test/")
	own := slices.IndexFunc(cmd.Args, func(a string) bool { return strings.Contains(a, "mount --bind") })
	// A container has these folders to itself, and this machine is none.
	cmd.Args[own] = strings.Replace(cmd.Args[own], "&& exec", "&& mount -t tmpfs none /run && mount --bind '"+certs+"' /etc/ssl/certs && exec", 1)
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool {
		name, file, _ := strings.Cut(v, "=")
		return slices.ContainsFunc(cabundle.Variables(), func(v string) bool { return strings.HasPrefix(v, name+"=") }) || file == "/etc/ssl/certs"
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
