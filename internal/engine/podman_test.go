package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
)

// podmanInfo is what a Podman of user 0 or another one says about itself.
func podmanInfo(rootless bool, user int) string {
	return fmt.Sprintf(`{"host": {"security": {"rootless": %v}, "idMappings": {"uidmap": [{"container_id": 0, "host_id": %d}]}}}`,
		rootless, user)
}

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
				_, _ = io.WriteString(w, podmanInfo(false, 0))
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
		_, err = e.Create(t.Context(),
			Spec{Image: "i", Storage: Storage{Tmpfs: map[string]string{"/home": "rw,exec,uid=1000,gid=1000,mode=0700,size=4g"}}})
		if got := created.HostConfig.Tmpfs["/home"]; err != nil || got != want {
			t.Errorf("%s is told %q (%v), want %q", component, got, err, want)
		}
		e.Close()
		server.Close()
	}
}

// A Podman without root is refused before there is a container, unless it is the user's
// own on his machine. One that does not say counts as one of somebody else's.
func TestRootlessPodmanOfAnotherUserIsRefused(t *testing.T) {
	own := os.Geteuid()
	for _, c := range []struct{ network, info, want string }{
		{"unix", podmanInfo(true, own), ""},
		{"unix", podmanInfo(true, own+1), "sbx-devc runs as user"},
		{"unix", `{}`, "is of user -1"},
		{"tcp", podmanInfo(true, own), "is not on this machine"},
		{"tcp", podmanInfo(false, own), ""},
	} {
		if runtime.GOOS != "linux" && c.want == "" {
			continue
		}
		var created struct {
			HostConfig struct{ NetworkMode, UsernsMode string }
		}
		listener, err := net.Listen(c.network, map[string]string{"unix": filepath.Join(t.TempDir(), "s"), "tcp": "127.0.0.1:0"}[c.network])
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Api-Version", "1.41")
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.HasSuffix(r.URL.Path, "/version"):
				_, _ = io.WriteString(w, `{"ApiVersion": "1.41", "Components": [{"Name": "Podman Engine"}]}`)
			case strings.HasSuffix(r.URL.Path, "/libpod/info"):
				_, _ = io.WriteString(w, c.info)
			case strings.HasSuffix(r.URL.Path, "/containers/create") && c.want == "":
				_ = json.NewDecoder(r.Body).Decode(&created)
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, `{"Id": "x"}`)
			case !strings.HasSuffix(r.URL.Path, "/_ping"):
				t.Errorf("%+v: %s %s", c, r.Method, r.URL)
			}
		})}
		go func() { _ = server.Serve(listener) }()
		e, err := connect(t.Context(), candidate{host: c.network + "://" + listener.Addr().String()})
		if err != nil {
			t.Fatal(err)
		}
		for network, users := range map[string]string{"bridge": "keep-id", "none": "keep-id", "container:x": "container:x"} {
			_, err = e.Create(t.Context(), Spec{Image: "i", Link: Link{Network: network}})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(diag.HintOf(err), "sudo systemctl start podman.socket") {
					t.Errorf("%+v: %v, hint %q", c, err, diag.HintOf(err))
				}
				continue
			}
			if c.network == "tcp" {
				users = "" // of root's, all users are the machine's
			}
			if err != nil || created.HostConfig.UsernsMode != users {
				t.Errorf("%+v on %s: users %q, want %q; %v", c, network, created.HostConfig.UsernsMode, users, err)
			}
		}
		e.Close()
		_ = server.Close()
	}
}

// A limit counts as one only if its controller is delegated to the user.
func TestLimitsOfRootlessPodman(t *testing.T) {
	for controllers, want := range map[string]string{"": "memory cpus pids", "memory pids": "cpus", "cpu io memory pids": ""} {
		var f podmanFacts
		f.Host.Controllers = strings.Fields(controllers)
		if got := strings.Join(f.lacks(), " "); got != want {
			t.Errorf("%q: lacks %q, want %q", controllers, got, want)
		}
		f.Host.Security.Rootless = new(bool)
		if f.lacks() != nil {
			t.Error("root's Podman has all controllers")
		}
	}
}

// A mount with a label of SELinux goes to the engine in the words that can say it, once.
func TestRelabel(t *testing.T) {
	s := Spec{
		Storage: Storage{Mounts: []Mount{{Source: "/a", Target: "/x", Relabel: true}, {Source: "/b", Target: "/y", Relabel: true, ReadOnly: true},
			{Source: "/c", Target: "/z"}}}}
	host := s.hostConfig(nil)
	if !slices.Equal(host.Binds, []string{"/a:/x:z", "/b:/y:z,ro"}) || len(host.Mounts) != 1 || host.Mounts[0].Source != "/c" {
		t.Errorf("%q, %+v", host.Binds, host.Mounts)
	}
}

// Podman comes first, and one without root that is somebody else's does not stand in Docker's way.
func TestPodmanComesFirst(t *testing.T) {
	for other, want := range map[bool]string{false: "podman", true: "docker"} {
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
					user := os.Geteuid()
					if other {
						user++
					}
					_, _ = io.WriteString(w, podmanInfo(other || runtime.GOOS == "linux", user))
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
			t.Errorf("of another user %v: %s, %q", other, e.Host(), e.Note())
		}
		e.Close()
		e, err = connectBy(t.Context(), env(append(variables, RuntimeVariable, "podman")...))
		if (err != nil) != other || other && !strings.Contains(diag.HintOf(err), "sudo systemctl start podman.socket") {
			t.Errorf("of another user %v: %v, %q", other, err, diag.HintOf(err))
		}
		if err == nil {
			e.Close()
		}
	}
}
