package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall/control"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// A run gets what its user allows while it works, and keeps what it was started with.
func TestAllowReachesARunThatWorks(t *testing.T) {
	testenv.Root(t)
	site, denied := newSite(t), newSite(t)
	addr := bridgeAddress(t, "docker0")
	entry, closed := net.JoinHostPort(addr, strconv.Itoa(site)), net.JoinHostPort(addr, strconv.Itoa(denied))
	loop := fmt.Sprintf(`until curl -s -m 2 http://%s/ >got; do sleep 0.1; done; until test -e go; do sleep 0.1; done; `+
		`if curl -s -m 2 http://%s/; then echo opened >result; else echo closed >result; fi`, entry, closed)
	config := t.TempDir()
	r := runProgram(t, []string{scripted(t, loop), "XDG_CONFIG_HOME=" + config}, "--deny", closed)
	r.begin(t, "work")
	until(t, "the agent's container runs", func() bool { return len(r.containers(t)) == 2 })

	// Attack: containers that carry the labels of this project's runs.
	e := enginetest.Connect(t)
	firewalls, err := e.Containers(t.Context(), runplan.LabelWorkspace, r.Dir)
	if err != nil || len(firewalls) != 2 {
		t.Fatalf("%v, %v", firewalls, err)
	}
	image := strings.TrimSpace(dockerOutput(t, "inspect", "--format", "{{.Config.Image}}", firewalls[1].ID))
	for _, name := range []string{"sbx-devc-20200102-030405-abcdef-firewall", "other-" + filepath.Base(r.Dir)} {
		id := strings.TrimSpace(dockerOutput(t, "run", "-d", "--name", name, "--label", runplan.LabelWorkspace+"="+r.Dir, "--label",
			runplan.LabelRole+"=sidecar",
			"--label", runplan.LabelRun+"=20200102-030405-abcdef", "--entrypoint", "sleep", image, "600"))
		t.Cleanup(func() { dockerOutput(t, "rm", "-f", id) })
	}

	env := map[string]string{"XDG_CONFIG_HOME": config, "XDG_STATE_HOME": filepath.Dir(r.state()), "HOME": t.TempDir()}
	devc := func(args ...string) (string, int) {
		var out bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: func(name string) string { return env[name] }}
		code := a.main(t.Context(), append(args, "--project", r.Dir))
		return out.String(), code
	}
	allow := func(args ...string) string {
		t.Helper()
		out, code := devc(args...)
		if code != 0 {
			t.Errorf("%s: exit %d: %s", strings.Join(args, " "), code, out)
		}
		return out
	}
	if out := allow("allow", entry); !strings.Contains(out, entry+" is open now in the run ") || strings.Contains(out, "20200102") {
		t.Errorf("said %s", out)
	}
	until(t, "the agent reaches the host", func() bool {
		got, _ := os.ReadFile(filepath.Join(r.Dir, "got"))
		return bytes.Contains(got, []byte("hello from the site"))
	})
	out := allow("allow", closed)
	if !strings.Contains(out, closed+" is closed now in the run ") || !strings.Contains(out, "it denies "+closed) {
		t.Errorf("said %s", out)
	}
	if out := allow("preset", "anthropic"); !strings.Contains(out, "the preset anthropic stays closed") {
		t.Errorf("said %s", out)
	}
	// A firewall that does not answer is said: what the file opens is closed in its run, and what it denies may be open.
	firewall := runplan.FirewallContainer(filepath.Base(onlyRun(t, r.state())))
	dockerOutput(t, "pause", firewall)
	said, code := devc("deny", "unheard.example.com")
	dockerOutput(t, "unpause", firewall)
	if code != exitFailed || !strings.Contains(said, "is paused and keeps what it has") ||
		!strings.Contains(said, "docker unpause "+firewall) {
		t.Errorf("deny in a paused run: exit %d: %s", code, said)
	}
	allow("deny", "--remove", "unheard.example.com")
	dockerOutput(t, "exec", firewall, "rm", control.Path(runplan.AuditPath, true))
	said, code = devc("allow", "unheard.example.com")
	if code != exitFailed || !strings.Contains(said, "error: ") {
		t.Errorf("exit %d: %s", code, said)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := endOf(t, r); code != 0 {
		t.Errorf("exit %d: %s", code, r.said(t))
	}
	if got, _ := os.ReadFile(filepath.Join(r.Dir, "result")); string(got) != "closed\n" {
		t.Errorf("a host that the run denies: %q", got)
	}
	// The file that allow wrote is the user's change: discard does not take it back.
	changes, err := os.ReadFile(filepath.Join(onlyRun(t, r.state()), "changes.json"))
	if err != nil || bytes.Contains(changes, []byte("sandbox.jsonc")) || !bytes.Contains(changes, []byte(`"path": "got"`)) &&
		!bytes.Contains(changes, []byte(`"path":"got"`)) {
		t.Errorf("the run's changes: %v %s", err, changes)
	}
}

func dockerOutput(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("docker", args...).Output()
	if err != nil {
		t.Fatalf("docker %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}
