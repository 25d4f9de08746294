package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/moby/client"

	"github.com/org/claude-sandbox/internal/diag"
)

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

func TestAnExplicitEngineIsTheOnlyCandidate(t *testing.T) {
	config := t.TempDir()
	sum := sha256.Sum256([]byte("colima"))
	meta := filepath.Join(config, "contexts", "meta", hex.EncodeToString(sum[:]))
	if err := os.MkdirAll(meta, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		filepath.Join(config, "config.json"): `{"currentContext":"colima"}`,
		filepath.Join(meta, "meta.json"):     `{"Name":"colima","Endpoints":{"docker":{"Host":"unix:///home/me/.colima/docker.sock"}}}`,
	} {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		env  func(string) string
		want string
	}{
		{"DOCKER_HOST", env("DOCKER_HOST", "tcp://192.0.2.1:2376", "DOCKER_CONFIG", config), "tcp://192.0.2.1:2376"},
		{"the configured context", env("DOCKER_CONFIG", config), "unix:///home/me/.colima/docker.sock"},
		{"DOCKER_CONTEXT", env("DOCKER_CONFIG", config, "DOCKER_CONTEXT", "colima"), "unix:///home/me/.colima/docker.sock"},
		{"CONTAINER_HOST for Podman", env("CONTAINER_HOST", "ssh://core@192.0.2.1/p.sock", RuntimeVariable, "podman"),
			"ssh://core@192.0.2.1/p.sock"},
		{"CONTAINER_HOST for nobody else", env("CONTAINER_HOST", "ssh://core@192.0.2.1/p.sock", "DOCKER_HOST", "unix:///d"), "unix:///d"},
	} {
		w, err := find(c.env)
		if err != nil || !w.explicit || len(w.candidates) != 1 || w.candidates[0].host != c.want {
			t.Errorf("%s: %+v, %v, want only %q", c.name, w, err, c.want)
		}
	}
	hosts := func(env func(string) string) (text string) {
		w, err := find(env)
		if err != nil || w.explicit {
			t.Errorf("%+v, %v", w, err)
		}
		for _, c := range w.candidates {
			text += c.host + " "
		}
		return text
	}
	base := []string{"DOCKER_CONFIG", config, "DOCKER_CONTEXT", "default", "XDG_RUNTIME_DIR", "/run/user/7"}
	const podman, docker = "unix:///run/user/7/podman/podman.sock unix:///run/podman/podman.sock ", "unix:///var/run/docker.sock " +
		"unix:///run/user/7/docker.sock "
	for runtime, want := range map[string]string{"": podman + docker, "auto": podman + docker, "docker": docker, "podman": podman} {
		if got := hosts(env(append(base, RuntimeVariable, runtime)...)); got != want {
			t.Errorf("%q: %q, want %q", runtime, got, want)
		}
	}
	if _, err := find(env(append(base, RuntimeVariable, "nerdctl")...)); err == nil || !strings.Contains(diag.HintOf(err), "podman") {
		t.Errorf("%v", err)
	}
}

// Attack: a context that cannot be read, or that does not check who the engine is. The
// default engine is another machine than the one that the user named.
func TestAttackAContextThatIsGone(t *testing.T) {
	config := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	sum := sha256.Sum256([]byte("far"))
	meta := filepath.Join(config, "contexts", "meta", hex.EncodeToString(sum[:]), "meta.json")
	for _, c := range []struct{ name, config, meta string }{
		{"no such context", `{"currentContext": "far"}`, ""},
		{"no address", `{"currentContext": "far"}`, `{"Endpoints": {}}`},
		{"no JSON", `{"currentContext": "far"}`, `{`},
		{"a certificate that is not checked", `{"currentContext": "far"}`,
			`{"Endpoints": {"docker": {"Host": "tcp://192.0.2.1:2376", "SkipTLSVerify": true}}}`},
		{"a configuration that is no JSON", `{`, ""},
	} {
		write(filepath.Join(config, "config.json"), c.config)
		_ = os.Remove(meta)
		if c.meta != "" {
			write(meta, c.meta)
		}
		if e, err := connectBy(t.Context(), env("DOCKER_CONFIG", config)); !errors.Is(err, ErrUnavailable) || diag.HintOf(err) == "" {
			t.Errorf("%s: %+v, %v", c.name, e, err)
		}
	}
}

// Attack: somebody on the way plays the engine. With DOCKER_TLS_VERIFY nothing is said
// without TLS, also where DOCKER_CERT_PATH is not set, and no certificate of somebody
// else's is taken.
func TestAttackTheEngineOnTheWay(t *testing.T) {
	asked := make(chan string, 100)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Host
		w.Header().Set("Api-Version", "1.41")
	})
	plain, others := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer others.Close()
	others.Config.ErrorLog = log.New(io.Discard, "", 0)
	mine := httptest.NewTLSServer(handler)
	defer mine.Close()
	empty, certs := t.TempDir(), t.TempDir()
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: mine.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(certs, "ca.pem"), own, 0o644); err != nil {
		t.Fatal(err)
	}
	address := func(s *httptest.Server) string { return "tcp://" + s.Listener.Addr().String() }
	for name, e := range map[string]func(string) string{
		"no TLS":                     env("DOCKER_HOST", address(plain), "DOCKER_TLS_VERIFY", "1", "DOCKER_CERT_PATH", certs),
		"no TLS, docker's folder":    env("DOCKER_HOST", address(plain), "DOCKER_TLS_VERIFY", "1", "DOCKER_CONFIG", certs),
		"no certificates":            env("DOCKER_HOST", address(plain), "DOCKER_TLS_VERIFY", "1", "DOCKER_CONFIG", empty),
		"not checked":                env("DOCKER_HOST", address(mine), "DOCKER_CERT_PATH", certs),
		"certificates of the system": env("DOCKER_HOST", address(others), "DOCKER_TLS_VERIFY", "1", "DOCKER_CONFIG", empty),
	} {
		if _, err := connectBy(t.Context(), e); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
	select {
	case host := <-asked:
		t.Errorf("%s was asked", host)
	default:
	}
	e, err := connectBy(t.Context(), env("DOCKER_HOST", address(mine), "DOCKER_TLS_VERIFY", "1", "DOCKER_CONFIG", certs))
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
}

func TestRemoteAddresses(t *testing.T) {
	for host, want := range map[string]bool{
		"unix:///var/run/docker.sock": false, "npipe:////./pipe/docker_engine": false, "tcp://127.0.0.1:2375": false,
		"tcp://[::1]:2375": false, "tcp://localhost:2375": false,
		"tcp://docker:2375": true, "tcp://192.0.2.1:2376": true, "ssh://me@localhost": true, "ssh://host": true, "https://[2001:db8::1]": true,
		"tcp://127.0.0.1.evil.example:1": true, "%": true,
	} {
		if got := remote(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}

// A socket that this user may not open is no engine that is down: the client
// says so in words alone, and starting it would not help.
func TestASocketOfOthersIsNoEngineThatIsDown(t *testing.T) {
	c, err := client.New(client.WithHost("unix:///there.sock"),
		client.WithDialContext(func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.EACCES)}
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Ping(t.Context(), client.PingOptions{})
	if err == nil {
		t.Fatal("the engine answers")
	}
	if hint := diag.HintOf(unavailable([]error{err}, env())); !strings.Contains(hint, "usermod -aG docker") {
		t.Errorf("%v: the hint is %q", err, hint)
	}
}

func TestNoEngineSaysWhatToDo(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none.sock"))
	_, err := Connect(context.Background())
	if !errors.Is(err, ErrUnavailable) {
		t.Fatalf("got %v, want ErrUnavailable", err)
	}
	if hint := diag.HintOf(err); !strings.Contains(hint, "DOCKER_HOST") {
		t.Errorf("the hint %q does not name the cause", hint)
	}
}
