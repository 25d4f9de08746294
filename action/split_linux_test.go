package action_test

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// recordedEngine is the engine behind a socket that notes each request, as METHOD PATH.
func recordedEngine(t *testing.T) (address string, received func() []string) {
	t.Helper()
	engine, ok := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://")
	if !ok {
		engine = "/var/run/docker.sock"
	}
	var lock sync.Mutex
	var requests []string
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "engine"})
	proxy.Transport = &http.Transport{Dial: func(string, string) (net.Conn, error) { return net.Dial("unix", engine) }}
	proxy.FlushInterval = -1
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		requests = append(requests, r.Method+" "+r.URL.Path)
		lock.Unlock()
		proxy.ServeHTTP(w, r)
	})
	socket := filepath.Join(t.TempDir(), "engine")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	go server.Serve(listener) //nolint:errcheck // it is closed
	t.Cleanup(func() { server.Close() })
	return "unix://" + socket, func() []string {
		lock.Lock()
		defer lock.Unlock()
		return slices.Clone(requests)
	}
}

// elsewhere is a program before a step by which the step has a work folder that its engine
// does not have, though both have the same machine's name: as an engine with a file system of
// its own, such as one beside a runner. The step's files are in inputs.
func elsewhere(t *testing.T) (before, inputs []string) {
	t.Helper()
	testenv.Root(t)
	work := t.TempDir()
	script := `mount -t tmpfs none "$0" && mkdir -p "$0/r/r" "$0/_temp" && echo one >"$0/r/r/a.txt" && chown -R 1000:1000 "$0" && exec "$@"`
	return []string{"unshare", "--mount", "--propagation", "private", "sh", "-c", script, work},
		[]string{"GITHUB_WORKSPACE=" + work + "/r/r", "RUNNER_TEMP=" + work + "/_temp"}
}

// A split engine is found by itself, before anything is brought to it.
func TestAnEngineWithOtherFiles(t *testing.T) {
	for _, mode := range []string{"rw", "ro"} {
		t.Run(mode, func(t *testing.T) {
			before, inputs := elsewhere(t)
			address, received := recordedEngine(t)
			s := startStepBy(t, before, &fakeapi.Server{}, append(inputs, "DOCKER_HOST="+address, "INPUT_WORKSPACE_MODE="+mode)...)
			s.wantConclusion(1, "setup_error")
			if !strings.Contains(s.log.String(), "the engine has other files than this runner: set workspace_mode: copy") {
				t.Errorf("the log does not say what to do:\n%s", s.log.String())
			}
			for _, r := range received() {
				looks := strings.HasPrefix(r, "GET ") || strings.HasPrefix(r, "HEAD ")
				if !looks && !strings.HasSuffix(r, "/containers/create") { // which it asks for an image that cannot exist
					t.Errorf("the engine was told to %s", r)
				}
			}
			if len(received()) == 0 || len(s.requests()) > 0 {
				t.Errorf("the engine received %q, the model API %d requests", received(), len(s.requests()))
			}
		})
	}
	t.Run("copy", func(t *testing.T) {
		before, inputs := elsewhere(t)
		api := &fakeapi.Server{Script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"cat a.txt && echo two >>a.txt"}}}}}
		s := startStepBy(t, before, api, append(inputs, "INPUT_WORKSPACE_MODE=copy")...)
		s.wantConclusion(0, "success")
		if !strings.Contains(s.file("output"), "\na.txt\n") {
			t.Errorf("the change did not come back:\n%s\n%s", s.file("output"), s.log.String())
		}
	})
}

// Runners without an engine, and with one that is dead: the step says which of them it is on.
func TestARunnerWithoutAnEngine(t *testing.T) {
	dead := filepath.Join(t.TempDir(), "engine")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	listener.Close()
	for name, c := range map[string]struct {
		inputs []string
		want   string
	}{
		"nothing":    {[]string{"PATH=/nowhere"}, "this runner has no container engine: install Docker or Podman"},
		"a program":  {nil, "Docker is installed, and its daemon does not run"},
		"dead":       {[]string{"DOCKER_HOST=unix://" + dead}, "where no engine answers"},
		"Kubernetes": {[]string{"ACTIONS_RUNNER_CONTAINER_HOOKS=/home/runner/k8s/index.js"}, "containerMode.type: dind"},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Root(t)
			before := []string{"unshare", "--mount", "--propagation", "private", "sh", "-c", `mount -t tmpfs none /run && exec "$0" "$@"`}
			if name == "nothing" { // no PATH leads to these
				before[0], before[4] = command(t, ".", "sh", "-c", "command -v unshare"), "/bin/sh"
				before[0], before[6] = strings.TrimSpace(before[0]), strings.Replace(before[6], "mount", "/bin/mount", 1)
			}
			s := startStepBy(t, before, &fakeapi.Server{}, append([]string{"DOCKER_HOST="}, c.inputs...)...)
			s.wantConclusion(1, "setup_error")
			if !strings.Contains(s.log.String(), c.want) || !strings.Contains(s.file("summary"), c.want) {
				t.Errorf("it does not say %q:\n%s\n%s", c.want, s.log.String(), s.file("summary"))
			}
		})
	}
}
