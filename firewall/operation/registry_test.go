package operation

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/org/claude-sandbox/internal/test/operationtest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// depot is a stand-in for a registry: the answers by path, and what was written.
type depot struct {
	files  map[string][]byte
	writes []string
}

func (p *depot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		p.writes = append(p.writes, r.Method+" "+r.RequestURI)
	}
	data, ok := p.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/") {
		w.Header().Set("Content-Type", "text/html")
	}
	_, _ = w.Write(data)
}

func newDepotClient(t *testing.T, files map[string][]byte, entries ...string) (*gatedClient, *depot) {
	p := &depot{files: files}
	g := &gate{rules: compile(t, entries...), memory: NewMemory(), sites: map[string]http.Handler{"": p}}
	return newGatedClient(t, g), p
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for file, text := range files {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func packTar(files map[string]string) []byte {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for path, text := range files {
		_ = w.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(text))})
		_, _ = io.WriteString(w, text)
	}
	_ = w.Close()
	_ = zipped.Close()
	return out.Bytes()
}

func packZip(files map[string]string) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for path, text := range files {
		one, _ := w.Create(path)
		_, _ = io.WriteString(one, text)
	}
	_ = w.Close()
	return out.Bytes()
}

// refusedWith reports whether the program failed, with words of ours in what it says.
func (c *gatedClient) refusedWith(words, dir string, args ...string) {
	c.t.Helper()
	if out, err := c.run(dir, args...); err == nil || !strings.Contains(out, words) {
		c.t.Errorf("%q: %v, want %q\n%s", args, err, words, out)
	}
}

func TestNPM(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "npm")
	tarball := packTar(map[string]string{"package/package.json": `{"name":"@scope/leaf","version":"1.0.0"}`})
	sum := sha512.Sum512(tarball)
	metadata, _ := json.Marshal(map[string]any{
		"name": "@scope/leaf", "dist-tags": map[string]string{"latest": "1.0.0"},
		"versions": map[string]any{"1.0.0": map[string]any{"name": "@scope/leaf", "version": "1.0.0", "dist": map[string]string{
			"tarball":   "http://packages.npmjs.org/@scope/leaf/-/leaf-1.0.0.tgz",
			"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
		}}},
	})
	c, registry := newDepotClient(t, map[string][]byte{
		"/@scope/leaf": metadata, "/@scope/leaf/-/leaf-1.0.0.tgz": tarball, "/-/npm/v1/security/advisories/bulk": []byte("{}"),
	}, "npm:read")
	project := t.TempDir()
	writeFiles(t, project, map[string]string{
		"package.json": `{"name":"mine","version":"1.0.0"}`,
		".npmrc": "registry=http://packages.npmjs.org/\nproxy=" + c.proxy + "\n//packages.npmjs.org/:_authToken=x\nfetch-retries=0\n" +
			"update-notifier=false\naudit=true\n",
	})
	if out := c.must(project, "npm", "install", "@scope/leaf"); !strings.Contains(out, "0 vulnerabilities") {
		t.Errorf("no audit: %s", out)
	}
	if _, err := os.Stat(filepath.Join(project, "node_modules/@scope/leaf/package.json")); err != nil {
		t.Error(err)
	}
	if len(registry.writes) != 1 {
		t.Errorf("%q", registry.writes)
	}
	c.refusedWith("this is publish", project, "npm", "publish")
	if len(registry.writes) != 1 {
		t.Errorf("arrived: %q", registry.writes)
	}
}

func TestPip(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "pip")
	wheel := packZip(map[string]string{
		"leaf.py":                     "",
		"leaf-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: leaf\nVersion: 1.0\n",
		"leaf-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"leaf-1.0.dist-info/RECORD":   "leaf.py,,\nleaf-1.0.dist-info/METADATA,,\nleaf-1.0.dist-info/WHEEL,,\nleaf-1.0.dist-info/RECORD,,\n",
	})
	c, _ := newDepotClient(t, map[string][]byte{
		"/simple/leaf/": []byte(`<a href="http://files.pythonhosted.org/packages/aa/bb/leaf-1.0-py3-none-any.whl">leaf-1.0-py3-none-any.whl</a>`),
		"/packages/aa/bb/leaf-1.0-py3-none-any.whl": wheel,
	}, "pypi:read")
	to := t.TempDir()
	c.must(to, "pip", "--disable-pip-version-check", "--isolated", "install", "-q", "--no-cache-dir", "--target", to, "--index-url",
		"http://pypi.org/simple", "--trusted-host", "pypi.org", "--trusted-host", "files.pythonhosted.org", "--proxy", c.proxy, "leaf")
	if _, err := os.Stat(filepath.Join(to, "leaf.py")); err != nil {
		t.Error(err)
	}
}

func TestGoModules(t *testing.T) {
	t.Parallel()
	module := "example.com/Leaf"
	escaped := "/example.com/!leaf/@v/"
	goMod := "module " + module + "\n"
	c, _ := newDepotClient(t, map[string][]byte{
		escaped + "list": []byte("v1.0.0\n"), escaped + "v1.0.0.info": []byte(`{"Version":"v1.0.0"}`), escaped + "v1.0.0.mod": []byte(goMod),
		escaped + "v1.0.0.zip": packZip(map[string]string{module + "@v1.0.0/go.mod": goMod, module + "@v1.0.0/leaf.go": "package leaf\n"}),
	}, "go:read")
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"go.mod": "module mine\n", "main.go": "package main\nimport _ \"" + module + "\"\nfunc main() {}\n"})
	c.must(dir, "env", "GOPROXY=http://modules.golang.org", "GONOSUMDB=*", "GOFLAGS=-mod=mod -modcacherw",
		"GOTOOLCHAIN=local", "go", "mod", "tidy")
	if text, _ := os.ReadFile(filepath.Join(dir, "go.mod")); !strings.Contains(string(text), module+" v1.0.0") {
		t.Errorf("%s %+v", text, c.gate.refused)
	}
}

func TestCargo(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "cargo")
	manifest := "[package]\nname = \"leaf\"\nversion = \"1.0.0\"\nedition = \"2021\"\ndescription = \"d\"\nlicense = \"MIT\"\n"
	crate := packTar(map[string]string{"leaf-1.0.0/Cargo.toml": manifest, "leaf-1.0.0/src/lib.rs": ""})
	sum := sha256.Sum256(crate)
	c, registry := newDepotClient(t, map[string][]byte{
		"/config.json": []byte(`{"dl":"http://static.crates.io/crates","api":"http://crates.io"}`),
		"/le/af/leaf": fmt.Appendf(nil, `{"name":"leaf","vers":"1.0.0","deps":[],"cksum":"%s","features":{},"yanked":false}`,
			hex.EncodeToString(sum[:])),
		"/crates/leaf/1.0.0/download": crate,
	}, "crates:read")
	home, _ := os.UserHomeDir()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"Cargo.toml": strings.Replace(manifest, "leaf", "mine", 1) + "[dependencies]\nleaf = { version = \"1\", registry = \"there\" }\n",
		"src/lib.rs": "",
		".cargo/config.toml": "[registries.there]\nindex = \"sparse+http://index.crates.io/\"\ntoken = \"x\"\n[http]\nproxy = \"" + c.proxy +
			"\"\n[net]\nretry = 0\n",
	})
	cargo := []string{"env", "CARGO_HOME=" + filepath.Join(dir, "home"), "RUSTUP_HOME=" + filepath.Join(home, ".rustup"), "cargo"}
	c.must(dir, append(cargo, "fetch", "-q")...)
	if lock, _ := os.ReadFile(filepath.Join(dir, "Cargo.lock")); !strings.Contains(string(lock), hex.EncodeToString(sum[:])) {
		t.Errorf("%s", lock)
	}
	c.refusedWith("this is publish", dir, append(cargo, "publish", "--no-verify", "--allow-dirty", "--registry", "there")...)
	c.refusedWith("this is yank", dir, append(cargo, "yank", "leaf@1.0.0", "--registry", "there")...)
	c.refusedWith("this is owner", dir, append(cargo, "owner", "--add", "evil", "leaf", "--registry", "there")...)
	if len(registry.writes) > 0 {
		t.Errorf("arrived: %q", registry.writes)
	}
}

func TestImages(t *testing.T) {
	g := &gate{rules: compile(t, "oci:registry.example.com read"), memory: NewMemory(), sites: map[string]http.Handler{}}
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	g.sites[""] = store
	c := newGatedClient(t, g)
	proxy, _ := url.Parse(c.proxy)
	through := remote.WithTransport(&http.Transport{Proxy: http.ProxyURL(proxy)})
	image, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	tag, _ := name.NewTag("registry.example.com/a/b:1", name.Insecure)
	if err := remote.Write(tag, image, through); err == nil || !strings.Contains(err.Error(), "this is push") {
		t.Errorf("pushed: %v", err)
	}
	direct := newGatedClient(t,
		&gate{rules: compile(t, "https://registry.example.com GET,HEAD,POST,PUT,PATCH /**"), memory: NewMemory(), sites: g.sites})
	other, _ := url.Parse(direct.proxy)
	if err := remote.Write(tag, image, remote.WithTransport(&http.Transport{Proxy: http.ProxyURL(other)})); err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Image(tag, through)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := pulled.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatal(layers, err)
	}
	if _, err := layers[0].Compressed(); err != nil {
		t.Error(err)
	}
	if err := remote.Delete(tag, through); err == nil || !strings.Contains(err.Error(), "this is delete") {
		t.Errorf("deleted: %v", err)
	}
}

func TestRegistriesAreRead(t *testing.T) {
	rules := compile(t, operationtest.Registries().Entries...)
	for _, text := range []string{
		"GET packages.npmjs.org/left-pad", "HEAD packages.npmjs.org/left-pad", "GET packages.npmjs.org/@scope%2Fname",
		"GET packages.npmjs.org/@scope/name",
		"GET packages.npmjs.org/left-pad/1.0.0", "GET packages.npmjs.org/-/v1/search?text=x",
		"GET packages.npmjs.org/@scope%2fname/-/name-1.0.0.tgz",
		`POST packages.npmjs.org/-/npm/v1/security/advisories/bulk {"@a/b":["1.0.0-rc.1+x"]}`, "GET repo.example.com/npm/team/left-pad",
		"GET repo.example.com/npm/team/@scope%2fname", "GET pypi.org/simple/", "GET pypi.org/pypi/leaf/json",
		"GET checksums.golang.org/lookup/example.com/m@v1.0.0", "GET modules.golang.org/sumdb/checksums.golang.org/tile/8/0/x001/234",
		"GET checksums.golang.org/latest",
		"GET index.crates.io/3/a/abc", "GET static.crates.io/crates/leaf/leaf-1.0.0.crate", "GET crates.io/api/v1/crates?q=leaf",
		"GET auth.docker.io/token?service=registry.docker.io&scope=repository:library/x:pull&account=me", "GET registry-1.docker.io/v2/",
		"GET registry-1.docker.io/v2/library/x/blobs/sha256:aa", "GET production.cloudflare.docker.com/registry-v2/a/data?verify=1",
		"GET pkg-containers.githubusercontent.com/ghcr1/blobs/sha256:aa?se=1", "GET ghcr.io/v2/a/b/c/manifests/latest",
	} {
		method, rest, _ := strings.Cut(text, " ")
		target, body, _ := strings.Cut(rest, " ")
		if d := ask(t, rules, NewMemory(), method, target, body, nil); !d.Allowed || d.Rule == "" {
			t.Errorf("%s: %+v", text, d)
		}
	}
}

func TestAttackOperationAuditBomb(t *testing.T) {
	rules := compile(t, "npm:read")
	target := "packages.npmjs.org/-/npm/v1/security/advisories/bulk"
	good := `{"a":["1.0.0"]}`
	gzipped := http.Header{"Content-Encoding": {"gzip"}}
	for name, c := range map[string]struct {
		body    string
		header  http.Header
		allowed bool
	}{
		"gzip":        {zipped(good), gzipped, true},
		"a JSON text": {zipped(good), http.Header{"Content-Encoding": {"gzip"}, "Content-Type": {"application/json"}}, true},
		"and another": {zipped(good) + zipped(good), gzipped, false},
		"two members": {zipped(`{"a":`) + zipped(`["1.0.0"]}`), gzipped, false},
		"a bomb":      {zipped(good + strings.Repeat(" ", 8*maxCoded)), gzipped, false},
		"plain":       {good, gzipped, false},
		"brotli":      {good, http.Header{"Content-Encoding": {"br"}}, false},
		"twice":       {zipped(zipped(good)), http.Header{"Content-Encoding": {"gzip", "gzip"}}, false},
		"long":        {good + strings.Repeat(" ", maxCoded), nil, false},
	} {
		if d := ask(t, rules, NewMemory(), "POST", target, c.body, c.header); d.Allowed != c.allowed {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func TestRegistryPatterns(t *testing.T) {
	for _, k := range []*registryKind{npmRegistry, pypiRegistry, goRegistry, cratesRegistry, ociRegistry} {
		for _, route := range k.routes {
			if _, err := path.Match(route.pattern, ""); err != nil {
				t.Errorf("%s: %q: %v", k.word, route.pattern, err)
			}
		}
	}
}

func TestRegistryEntries(t *testing.T) {
	for text, want := range map[string]string{
		"npm:publish": "something else than reading", "npm:read write": "something else than reading",
		"npm:npm.example.com":         "something else than reading",
		"npm:npm.example.com publish": "something else than reading", "npm:*.example.com read": "names no one host",
		"npm:10.0.0.1 read":               "is an address",
		"npm:npm.example.com/a/../b read": "names no path", "npm:npm.example.com/ read": "names no path",
		"npm:npm.example.com/* read": "names no path",
		"oci:read x":                 "something else than reading",
	} {
		_, problems := Compile([]string{text})
		if len(problems) != 1 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%q: %+v, want %q", text, problems, want)
		}
	}
	r := compile(t, "npm:read", "oci:ghcr.io read")
	for text, want := range map[string]bool{
		"npm:packages.npmjs.org read": true, "npm:packages.npmjs.org/x read": false, "npm:other.example.com read": false, "npm:read": true,
		"oci:ghcr.io read": true, "oci:quay.io read": false, "pypi:read": false, "oci:read": false,
	} {
		if r.Covers(text) != want {
			t.Errorf("%q: not %v", text, want)
		}
	}
}
