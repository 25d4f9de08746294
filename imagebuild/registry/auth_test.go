package registry

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// home is a user's home with configurations and programs, and nothing else.
type home struct {
	t   *testing.T
	dir string
	env map[string]string
}

func newHome(t *testing.T) *home {
	h := &home{t, t.TempDir(), map[string]string{}}
	t.Setenv("PATH", filepath.Join(h.dir, "bin")+":/usr/bin:/bin")
	return h
}

func (h *home) write(path, text string, mode os.FileMode) {
	h.t.Helper()
	path = filepath.Join(h.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) credentials() Credentials {
	return Credentials{Getenv: func(k string) string { return h.env[k] }, Home: h.dir}
}

// password returns what is found for a repository, and from where.
func (h *home) password(c Credentials, repo string) (user, password, source string) {
	h.t.Helper()
	parsed, err := name.NewRepository(repo)
	if err != nil {
		h.t.Fatal(err)
	}
	auth, source, err := c.For(context.Background(), parsed)
	if err != nil {
		h.t.Fatal(err)
	}
	config, err := auth.Authorization()
	if err != nil {
		h.t.Fatal(err)
	}
	return config.Username, config.Password + config.IdentityToken, source
}

func encoded(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestCredentialsInOrder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the helpers of this test are shell scripts")
	}
	h := newHome(t)
	expect := func(c Credentials, repo, user, password, source string) {
		t.Helper()
		u, p, s := h.password(c, repo)
		if u != user || p != password || !strings.HasSuffix(s, source) || (source == "") != (s == "") {
			t.Errorf("%s: %s:%s from %q, want %s:%s from %q", repo, u, p, s, user, password, source)
		}
	}
	// From the last resort to the first choice.
	expect(h.credentials(), "ghcr.io/me/x", "", "", "")
	h.write("bin/gh", "#!/bin/sh\n[ \"$*\" = 'auth token' ] && echo gh-secret\n", 0o755)
	expect(h.credentials(), "ghcr.io/me/x", "token", "gh-secret", "gh auth token")
	expect(h.credentials(), "example.com/me/x", "", "", "")

	h.write(".config/containers/auth.json",
		`{"auths":{"ghcr.io/me":{"auth":"`+encoded("me:podman")+`"},"ghcr.io":{"auth":"`+encoded("all:podman")+`"}}}`, 0o600)
	expect(h.credentials(), "ghcr.io/me/x", "me", "podman", "auth.json")
	expect(h.credentials(), "ghcr.io/you/x", "all", "podman", "auth.json")

	h.write(".docker/config.json",
		`{"auths":{"https://ghcr.io/v2/":{"auth":"`+encoded("me:docker")+`"},"https://index.docker.io/v1/":{"auth":"`+
			encoded("hub:docker")+`"}}}`, 0o600)
	expect(h.credentials(), "ghcr.io/me/x", "me", "docker", "config.json")
	expect(h.credentials(), "me/x", "hub", "docker", "config.json")

	h.write("bin/docker-credential-test",
		"#!/bin/sh\nread -r server\n[ \"$server\" = example.com ] || { echo 'credentials not found in native keychain'; exit 1; }\n"+
			"echo '{\"Username\":\"helper\",\"Secret\":\"from-helper\"}'\n", 0o755)
	h.write(".docker/config.json", `{"credsStore":"test","auths":{"example.com":{}}}`, 0o600)
	expect(h.credentials(), "example.com/me/x", "helper", "from-helper", "config.json")
	expect(h.credentials(), "other.example/me/x", "", "", "")
	h.write("bin/docker-credential-token", "#!/bin/sh\necho '{\"Username\":\"<token>\",\"Secret\":\"identity\"}'\n", 0o755)
	h.write(".docker/config.json", `{"credsStore":"test","credHelpers":{"ghcr.io":"token"}}`, 0o600)
	expect(h.credentials(), "ghcr.io/me/x", "", "identity", "config.json")

	h.env["GH_TOKEN"] = "gh-env"
	expect(h.credentials(), "ghcr.io/me/x", "token", "gh-env", "GH_TOKEN")
	h.env["GITHUB_TOKEN"], h.env["GITHUB_ACTOR"] = "actions", "somebody"
	expect(h.credentials(), "ghcr.io/me/x", "somebody", "actions", "GITHUB_TOKEN")
	// A token of GitHub's is nobody else's business.
	expect(h.credentials(), "example.com/me/x", "helper", "from-helper", "config.json")

	c := h.credentials()
	c.Username, c.Password = "me", "typed"
	expect(c, "ghcr.io/me/x", "me", "typed", "--password-stdin")
}

func TestAHelperThatHangsIsKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the helper of this test is a shell script")
	}
	testenv.Slow(t)
	h := newHome(t)
	h.write("bin/docker-credential-hang", "#!/bin/sh\nexec sleep 1000\n", 0o755)
	h.write(".docker/config.json", `{"credsStore":"hang"}`, 0o600)
	parsed, err := name.NewRepository("example.com/me/x")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond) // stands for helperTimeout
	defer cancel()
	_, _, err = h.credentials().For(ctx, parsed)
	if err == nil || !strings.Contains(err.Error(), "docker-credential-hang") || !strings.Contains(diag.HintOf(err), "--password-stdin") {
		t.Errorf("got %v with hint %q", err, diag.HintOf(err))
	}
}

// Whatever goes wrong, the secret is in no message, and helpers do not get it
// on their command line.
func TestSecretsAreInNoMessage(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the helper of this test is a shell script")
	}
	const secret = "s3cr3t-t0k3n"
	h := newHome(t)
	var said bytes.Buffer
	attempt := func(c Credentials, addr string) {
		o := Real(c, func(text string) { said.WriteString(text + "\n") })
		o.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
		client, err := Dial(context.Background(), addr+"/me/x", true, nil, o)
		if err == nil {
			a := sample(t, 1)
			_, err = Push(context.Background(), client, a, pushOptions(t, a))
		}
		if err == nil {
			t.Error("the push succeeded")
			return
		}
		said.WriteString(err.Error() + "\n" + diag.HintOf(err) + "\n")
	}
	for _, challenge := range []string{"Basic realm=x", `Bearer realm="REALM",service="x"`} {
		for _, code := range []int{401, 403, 500} {
			var server *httptest.Server
			arrived := false
			server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				arrived = arrived || strings.Contains(r.Header.Get("Authorization"), encoded("me:"+secret))
				w.Header().Set("WWW-Authenticate", strings.ReplaceAll(challenge, "REALM", server.URL+"/token"))
				if r.URL.Path == "/v2/" && r.Header.Get("Authorization") == "" {
					w.WriteHeader(401)
					return
				}
				w.WriteHeader(code)
			}))
			c := h.credentials()
			c.Username, c.Password = "me", secret
			attempt(c, strings.TrimPrefix(server.URL, "http://"))
			server.Close()
			if !arrived {
				t.Errorf("%s: the registry did not get the credentials: this test proves nothing", challenge)
			}
		}
	}
	h.write(".docker/config.json", `{"auths":{"x":{"auth":"`+encoded("me:"+secret)+`"`, 0o600) // cut off
	attempt(h.credentials(), "127.0.0.1:1")
	h.write(".docker/config.json", `{"auths":{"127.0.0.1:1":{"auth":"`+secret+`"}}}`, 0o600) // not in docker's form
	attempt(h.credentials(), "127.0.0.1:1")
	h.write("bin/docker-credential-bad", "#!/bin/sh\necho \"$@\" >>"+filepath.Join(h.dir, "args")+"\necho "+secret+"\nexit 1\n", 0o755)
	h.write(".docker/config.json", `{"credsStore":"bad"}`, 0o600)
	attempt(h.credentials(), "127.0.0.1:1")
	if args, err := os.ReadFile(filepath.Join(h.dir, "args")); err != nil || string(args) != "get\n" {
		t.Errorf("the helper was called with %q, %v", args, err)
	}
	for _, form := range []string{secret, encoded("me:" + secret), encoded(secret)} {
		if strings.Contains(said.String(), form) {
			t.Errorf("the secret was said:\n%s", said.String())
		}
	}
	if said.Len() == 0 {
		t.Error("nothing was said")
	}
}
