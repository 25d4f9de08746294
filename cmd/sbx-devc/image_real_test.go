package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/registrytest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// TestImageFromLockToDevContainer goes the whole way with the real parts: the
// published base's Dockerfile, npm's Claude Code, a registry, an engine that
// pulls by itself, and the dev container CLI with nothing but the image's name.
func TestImageFromLockToDevContainer(t *testing.T) {
	t.Parallel()
	testenv.Root(t)
	docker := testenv.Program(t, "docker")
	testenv.Program(t, "devcontainer")
	e := enginetest.Connect(t)
	enginetest.Carried(t)
	if _, err := imagebuild.LoadInit(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	addr := registrytest.Start(t)
	sbx := func(args ...string) string {
		t.Helper()
		var out, errout bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errout, getenv: func(k string) string {
			if k == "SOURCE_DATE_EPOCH" {
				return "1700000000"
			}
			return ""
		}}
		if code := a.main(t.Context(), args); code != 0 {
			t.Fatalf("sbx-devc %q: exit %d: %s", args, code, errout.String())
		}
		return strings.TrimSpace(out.String())
	}
	output := func(cmd *exec.Cmd) string {
		t.Helper()
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%q: %v: %s%s", cmd.Args, err, out, exit.Stderr)
		}
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	run := func(name string, args ...string) string {
		t.Helper()
		return output(exec.CommandContext(t.Context(), name, args...))
	}
	sbx("image", "build", "../../images/base", "--dockerfile", "Dockerfile", "--tag", "sbx-image-test:base")
	t.Cleanup(func() { _ = exec.Command(docker, "rmi", "sbx-image-test:base").Run() })
	version := strings.Fields(run(testenv.Program(t, "claude"), "--version"))[0]
	sbx("image", "lock", dir, "--base", "engine:sbx-image-test:base", "--claude", version)
	const loaded = "sbx-image-test:sandbox"
	id := sbx("sandbox", "build", dir, "--tag", loaded)
	t.Cleanup(func() { _ = exec.Command(docker, "rmi", loaded).Run() })
	if got := run(docker, "inspect", "-f", "{{.Id}} {{index .Config.Entrypoint 0}}", loaded); got != id+" /usr/local/sbin/sbx-init" {
		t.Errorf("the engine has %s, sandbox build says %s", got, id)
	}
	repo := addr + "/me/sandbox"
	pushed := sbx("image", "push", "--dir", dir, repo+":v1.0.0")
	sbx("image", "verify", pushed, "--lock", filepath.Join(dir, "sbx-image.lock.json"), "--deep")
	if shown := sbx("image", "inspect", pushed); !strings.Contains(shown, "linux/amd64") || !strings.Contains(shown, "sbx-init") {
		t.Errorf("inspect shows\n%s", shown)
	}

	ref := strings.Replace(pushed, ":v1.0.0", "", 1)
	t.Cleanup(func() { _ = exec.Command(docker, "rmi", ref).Run() })
	run(docker, "pull", "-q", ref)
	out := run(docker, "run", "--rm", "--cap-add", "NET_ADMIN", "--security-opt", "no-new-privileges", ref, "sh", "-c",
		`id -un; claude --version; find / -xdev -perm /6000 -type f 2>/dev/null; curl -sS -m 3 http://example.com/ 2>&1 || true`)
	lines := strings.Split(out, "\n")
	if lines[0] != "agent" || !strings.HasPrefix(lines[1], version) || !strings.Contains(lines[len(lines)-1], "resolve") || len(lines) != 3 {
		t.Errorf("in the container:\n%s", out)
	}

	project := filepath.Join(dir, "project")
	if err := os.MkdirAll(filepath.Join(project, ".devcontainer"), 0o755); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(map[string]string{"image": ref})
	if err := os.WriteFile(filepath.Join(project, ".devcontainer", "devcontainer.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	var up struct{ Outcome, ContainerID, RemoteUser string }
	answer := output(testenv.Devcontainer(t, "up", "--workspace-folder", project))
	if err := json.Unmarshal([]byte(answer[strings.LastIndex(answer, "\n")+1:]), &up); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's context is over here.
		volumes, _ := exec.Command(docker, "inspect", "-f", `{{range .Mounts}}{{if eq .Type "volume"}}{{.Name}} {{end}}{{end}}`,
			up.ContainerID).Output()
		image, _ := exec.Command(docker, "inspect", "-f", "{{.Image}}", up.ContainerID).Output()
		_ = exec.Command(docker, "rm", "-f", up.ContainerID).Run()
		for _, v := range strings.Fields(string(volumes)) {
			_ = exec.Command(docker, "volume", "rm", v).Run()
		}
		_ = exec.Command(docker, "rmi", strings.TrimSpace(string(image))).Run() // what the CLI made to fit the user's number
	})
	if up.Outcome != "success" || up.RemoteUser != "agent" {
		t.Errorf("devcontainer up: %s", answer)
	}
	inside := output(testenv.Devcontainer(t, "exec", "--workspace-folder", project, "sh", "-lc",
		`id -un; grep -c '^NoNewPrivs:.1' /proc/self/status; grep '^CapEff' /proc/self/status | tr -d '\t'; claude --version; `+
			`curl -sS -m 3 http://example.com/ 2>&1 || true`))
	got := strings.Split(inside, "\n")
	if len(got) < 5 || got[0] != "agent" || got[1] != "1" || got[2] != "CapEff:0000000000000000" || !strings.HasPrefix(got[3], version) ||
		!strings.Contains(got[4], "resolve") {
		t.Errorf("in the dev container:\n%s", inside)
	}
}

// The digest that push writes down is the one that pull fetches, also when the tag has moved on.
func TestPinnedPushIsPulled(t *testing.T) {
	e := enginetest.Connect(t)
	enginetest.Carried(t)
	repo, file := registrytest.Start(t)+"/me/init", filepath.Join(t.TempDir(), "pinned.txt")
	sbx := func(args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errout bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errout, getenv: func(string) string { return "" }}
		if code := a.main(t.Context(), args); code != 0 {
			t.Fatalf("sbx-devc %q: exit %d: %s", args, code, errout.String())
		}
		return strings.TrimSpace(out.String()), errout.String()
	}
	title := "pinned-" + repo // an image that the engine does not have
	pushed, _ := sbx("image", "push", "--init-only", "--title", title, repo+":edge", repo+":latest", "--pinned", file)
	sbx("image", "push", "--init-only", "--title", title+"-next", repo+":edge", repo+":latest")
	text, err := os.ReadFile(file)
	_, digest, _ := strings.Cut(strings.Split(pushed, "\n")[0], "@")
	if err != nil || string(text) != repo+"@"+digest+"\n" {
		t.Fatalf("%q, %v; push printed %s", text, err, pushed)
	}
	id, notice := sbx("image", "pull", "--pinned", file)
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", id).Run() })
	image, err := e.ImageInspect(t.Context(), id)
	if err != nil || image.Labels["org.opencontainers.image.title"] != title || !strings.Contains(notice, digest) {
		t.Errorf("pulled %+v, %v: %s", image, err, notice)
	}
}
