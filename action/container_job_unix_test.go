//go:build unix

package action_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// A job in a container has the engine's socket, and files that the engine does not see. So
// have runners next to Docker-in-Docker, and ARC's.
func TestAJobInAContainer(t *testing.T) {
	testenv.Slow(t)
	bridgeGateway(t) // an engine is there
	if out, err := exec.Command("docker", "image", "inspect", "debian:bookworm-slim").CombinedOutput(); err != nil {
		testenv.Missing(t, "debian:bookworm-slim", string(out))
	}
	bin, err := program()
	if err != nil {
		t.Fatal("building sbx-devc: ", err)
	}
	api := &fakeapi.Server{APIKey: testKey, Script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"echo made >made.txt"}}}}}
	server := httptest.NewServer(api)
	defer server.Close()
	run := func(t *testing.T, input string, socket bool, more ...string) (outputs, log string) {
		t.Helper()
		out := t.TempDir()
		args := append([]string{"run", "--rm", "--network", "host"}, more...)
		args = append(args, "-v", bin+":/usr/bin/sbx-devc:ro", "-v", out+":/out",
			"-v", testenv.CacheDir()+":/cache", "-e", "XDG_CACHE_HOME=/cache", "-e", "GITHUB_WORKSPACE=/__w/r/r", "-e", "RUNNER_TEMP=/out/temp",
			"-e", "GITHUB_OUTPUT=/out/output", "-e", "SBX_RUN_ID=gha-container-job", "-e", "SBX_DEVC_UPSTREAM="+server.URL,
			"-e", "INPUT_PROMPT=x", "-e", "INPUT_ANTHROPIC_API_KEY="+testKey, "-e", input)
		if socket {
			args = append(args, "-v", "/var/run/docker.sock:/var/run/docker.sock")
		}
		const job = "mkdir -p /__w/r/r/.claude/skills/s && printf '%s\\n' --- 'name: s' 'description: " +
			"KUMQUAT' --- >/__w/r/r/.claude/skills/s/SKILL.md && if test rw = $INPUT_WORKSPACE_MODE; then chown -R 1000:1000 /__w; " +
			"fi && sbx-devc action run; sbx-devc action cleanup; cp /out/temp/*/changes.diff /out; chmod -R a+rX /out"
		text, err := exec.Command("docker", append(args, "debian:bookworm-slim", "sh", "-c", job)...).CombinedOutput()
		if err != nil && !strings.Contains(string(text), "changes.diff") { // of a run without changes
			t.Fatal(err, string(text))
		}
		written, err := os.ReadFile(filepath.Join(out, "output"))
		if err != nil {
			t.Fatal(err, string(text))
		}
		diff, _ := os.ReadFile(filepath.Join(out, "changes.diff"))
		return string(written) + string(diff), string(text)
	}
	// This container has its machine's name, too.
	if outputs, log := run(t, "INPUT_WORKSPACE_MODE=copy", true); !strings.Contains(outputs, "\nsuccess\n") ||
		!strings.Contains(outputs, "+made") {
		t.Errorf("copy: %s\n%s", outputs, log)
	}
	if !slices.ContainsFunc(api.Requests(), func(q fakeapi.Request) bool { return strings.Contains(q.Body, "KUMQUAT") }) {
		t.Error("Claude does not know the project's skill")
	}
	if outputs, log := run(t, "INPUT_WORKSPACE_MODE=rw", true, "--hostname", "job"); !strings.Contains(outputs, "\nsetup_error\n") ||
		!strings.Contains(log,
			"this job is in a container (container:), and the engine has the workspace at another path: set workspace_mode: copy") {
		t.Errorf("rw: %s\n%s", outputs, log)
	}
	if outputs, log := run(t, "INPUT_WORKSPACE_MODE=rw", false); !strings.Contains(outputs, "\nsetup_error\n") ||
		!strings.Contains(log, "without its runner's engine: add volumes: /var/run/docker.sock:/var/run/docker.sock") {
		t.Errorf("no engine: %s\n%s", outputs, log)
	}
}
