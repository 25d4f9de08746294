package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// asUser runs the built program as a user who is not root and is in the group of
// the engine's socket.
func asUser(t *testing.T, uid int, env []string, args ...string) (out string, code int) {
	t.Helper()
	program := filepath.Join("/tmp", fmt.Sprintf("sbx-devc-%d", os.Getpid())) // the repository's folder may be closed to him
	if _, err := os.Stat(program); err != nil {
		text, err := os.ReadFile(builtProgram(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, text, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(program) })
	}
	group, err := exec.Command("stat", "-c", "%g", "/var/run/docker.sock").Output()
	if err != nil {
		testenv.Missing(t, "the engine's socket at /var/run/docker.sock", err.Error())
	}
	id := strconv.Itoa(uid)
	cmd := exec.Command("setpriv",
		append([]string{"--reuid", id, "--regid", id, "--groups", strings.TrimSpace(string(group)), program}, args...)...)
	cmd.Dir = "/"
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// homeFor is a home folder of a user's.
func homeFor(t *testing.T, uid int) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "sbx-home-") // t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	return dir
}

// testAllow opens a host in the dev container that runs, as a user who is not root,
// and closes it again. Nothing inside can do it.
func testAllow(t *testing.T, p *devProject) {
	url := fmt.Sprintf("http://allowed.example:%d/", newSite(t))
	entry := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	reach := "curl -sS --max-time 10 " + url
	if out, err := p.exec(reach); err == nil {
		t.Fatalf("open before it is allowed: %s", out)
	}
	p.repel(t, []attack{
		{"AmendFromInside", `echo '{"add": {"allow": ["` + entry + `"]}}' | sbx-init amend`},
		{"WriteThePolicyFile", `echo '{}' >/etc/sbx/sandbox.jsonc || ln -sf /tmp/mine /etc/sbx/sandbox.jsonc || rm /etc/sbx/sandbox.jsonc`},
		{"WriteTheProjectsFile", `echo '{}' >.devcontainer/sandbox.jsonc || mv .devcontainer/sandbox.jsonc x`},
	})
	// Its home is out of the project's reach, and the project is its own.
	home := homeFor(t, agentUID)
	for dir := filepath.Dir(p.dir); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	do := func(want string, args ...string) {
		t.Helper()
		out, code := asUser(t, agentUID, []string{"HOME=" + home}, append(args, "--project", p.dir)...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d: %s", strings.Join(args, " "), code, out)
		}
	}
	do(entry+" is open now in the dev container ", "allow", entry)
	if out, err := p.exec(reach); err != nil || !strings.Contains(out, "hello from the site") {
		t.Errorf("allowed: %q %v", out, err)
	}
	id := p.containers()[0]
	if got := p.must(p.docker, "exec", id, "stat", "-c", "%u %g %a", "/etc/sbx/sandbox.jsonc"); got != "0 0 644" {
		t.Errorf("the policy file in the container: %s", got)
	}
	p.must(p.docker, "exec", "-u", "0", id, "sbx-init", "verify")
	do(entry+" is closed now in the dev container ", "deny", entry)
	if out, err := p.exec(reach); err == nil {
		t.Errorf("open after deny: %s", out)
	}
	do("changed", "deny", "--remove", entry)
	do(entry+" is closed now in the dev container ", "allow", "--remove", entry)
	if out, err := p.exec(reach); err == nil {
		t.Errorf("open after it was removed: %s", out)
	}

	// Attack: a container that carries this project's label and does not mount it.
	image := p.must(p.docker, "inspect", "--format", "{{.Config.Image}}", id)
	other := p.must(p.docker, "run", "-d", "--label", runplan.LabelFolder+"="+p.dir, "--entrypoint", "sleep", image, "600")
	t.Cleanup(func() { p.must(p.docker, "rm", "-f", other) })
	do("but does not mount its folder: it is left alone", "allow", entry)
	do("is closed now", "allow", "--remove", entry)
	p.must(p.docker, "rm", "-f", other)

	// Attack: while the container is paused nothing is closed in it, and that is no success.
	p.must(p.docker, "pause", id)
	if out, code := asUser(t, agentUID, []string{"HOME=" + home}, "deny", entry, "--project", p.dir); code == 0 ||
		!strings.Contains(out, "is paused and keeps what it has") || !strings.Contains(out, "docker unpause ") {
		t.Errorf("deny in a paused container: exit %d: %s", code, out)
	}
	p.must(p.docker, "unpause", id)
	do(entry+" is closed now in the dev container ", "deny", entry)
	do("changed", "deny", "--remove", entry)

	p.must(p.docker, "stop", "-t", "1", id)
	do("does not run: it gets the file when it is rebuilt", "allow", entry)
	do("nothing of this project runs now", "allow", "--remove", entry)
	p.must(p.docker, "start", id)
}
