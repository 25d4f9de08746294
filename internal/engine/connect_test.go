package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
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
	} {
		if got := candidates(c.env); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: candidates are %q, want only %q", c.name, got, c.want)
		}
	}
	got := candidates(env("DOCKER_CONFIG", config, "DOCKER_CONTEXT", "default", "XDG_RUNTIME_DIR", "/run/user/7"))
	if !strings.Contains(strings.Join(got, " "), "unix:///run/user/7/podman/podman.sock") {
		t.Errorf("the default context does not try Podman's socket: %q", got)
	}
}

// A socket that this user may not open is no engine that is down: the client
// says so in words alone, and starting it would not help.
func TestASocketOfOthersIsNoEngineThatIsDown(t *testing.T) {
	c, err := client.New(client.WithHost("unix:///there.sock"), client.WithDialContext(func(context.Context, string, string) (net.Conn, error) {
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
