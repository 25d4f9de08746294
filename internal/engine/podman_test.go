package engine

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
)

// Podman refuses an owner among the options of a tmpfs; Docker needs it.
func TestTmpfsOnPodman(t *testing.T) {
	for component, want := range map[string]string{
		"Engine":        "rw,exec,uid=1000,gid=1000,mode=0700,size=4g",
		"Podman Engine": "notmpcopyup,rw,exec,mode=1777,size=4g",
	} {
		var created struct {
			HostConfig struct{ Tmpfs map[string]string }
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Api-Version", "1.41")
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.HasSuffix(r.URL.Path, "/version"):
				_ = json.NewEncoder(w).Encode(map[string]any{"ApiVersion": "1.41", "Components": []any{map[string]string{"Name": component}}})
			case strings.HasSuffix(r.URL.Path, "/info"):
				_, _ = io.WriteString(w, `{"Rootless": false}`)
			case strings.HasSuffix(r.URL.Path, "/containers/create"):
				body, _ := io.ReadAll(r.Body)
				if err := json.Unmarshal(body, &created); err != nil {
					t.Error(err)
				}
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, `{"Id": "x"}`)
			}
		}))
		e, err := connect(t.Context(), candidate{host: "tcp://" + server.Listener.Addr().String()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Create(t.Context(), Spec{Image: "i", Storage: Storage{Tmpfs: map[string]string{"/home": "rw,exec,uid=1000,gid=1000,mode=0700,size=4g"}}})
		if got := created.HostConfig.Tmpfs["/home"]; err != nil || got != want {
			t.Errorf("%s is told %q (%v), want %q", component, got, err, want)
		}
		e.Close()
		server.Close()
	}
}

// A Podman that does not run as root is refused before there is a container, and
// so is one that does not say.
func TestRootlessPodmanIsRefused(t *testing.T) {
	for _, info := range []string{`{"Rootless": true}`, `{}`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Api-Version", "1.41")
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.HasSuffix(r.URL.Path, "/version"):
				_, _ = io.WriteString(w, `{"ApiVersion": "1.41", "Components": [{"Name": "Podman Engine"}]}`)
			case strings.HasSuffix(r.URL.Path, "/info"):
				_, _ = io.WriteString(w, info)
			case !strings.HasSuffix(r.URL.Path, "/_ping"):
				t.Errorf("%s: %s %s", info, r.Method, r.URL)
			}
		}))
		e, err := connect(t.Context(), candidate{host: "tcp://" + server.Listener.Addr().String()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Create(t.Context(), Spec{Image: "i"})
		if err == nil || !strings.Contains(err.Error(), "does not run as root") || !strings.Contains(diag.HintOf(err), "sudo systemctl start podman.socket") {
			t.Errorf("%s: %v, hint %q", info, err, diag.HintOf(err))
		}
		e.Close()
		server.Close()
	}
}

// Podman comes first, and one without root does not stand in Docker's way.
func TestPodmanComesFirst(t *testing.T) {
	for rootless, want := range map[bool]string{false: "podman", true: "docker"} {
		dir := t.TempDir()
		serve := func(name, components string) {
			t.Helper()
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			socket, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Api-Version", "1.41")
				w.Header().Set("Content-Type", "application/json")
				switch {
				case strings.HasSuffix(r.URL.Path, "/version"):
					_, _ = io.WriteString(w, `{"ApiVersion": "1.41", "Components": [{"Name": "`+components+`"}]}`)
				case strings.HasSuffix(r.URL.Path, "/info"):
					_ = json.NewEncoder(w).Encode(map[string]bool{"Rootless": rootless})
				}
			})}
			go func() { _ = server.Serve(socket) }()
			t.Cleanup(func() { _ = server.Close() })
		}
		serve("podman/podman.sock", "Podman Engine")
		serve("docker.sock", "Engine")
		variables := []string{"XDG_RUNTIME_DIR", dir, "DOCKER_CONFIG", dir}
		e, err := connectBy(t.Context(), env(variables...))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(e.Host(), "podman"); got != (want == "podman") || (e.Note() != "") != got {
			t.Errorf("rootless %v: %s, %q", rootless, e.Host(), e.Note())
		}
		e.Close()
		e, err = connectBy(t.Context(), env(append(variables, RuntimeVariable, "podman")...))
		if (err != nil) != rootless || rootless && !strings.Contains(diag.HintOf(err), "sudo systemctl start podman.socket") {
			t.Errorf("rootless %v: %v, %q", rootless, err, diag.HintOf(err))
		}
		if err == nil {
			e.Close()
		}
	}
}
