package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/registrytest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/templates"
)

// startRegistry starts a registry and returns its address, of which dev
// container tools know that it speaks plain HTTP.
func startRegistry(t *testing.T) string {
	t.Helper()
	return strings.Replace(registrytest.Start(t), "127.0.0.1", "localhost", 1)
}

// call runs the command line in this process.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: os.Getenv}
	code = a.main(t.Context(), args)
	return code, out.String(), errs.String()
}

// sbxOut is call for who wants the results; messages of a failure are logged.
func sbxOut(t *testing.T, args ...string) (string, int) {
	t.Helper()
	code, out, said := call(t, args...)
	if code != 0 {
		t.Logf("sbx-devc %s: exit %d: %s", strings.Join(args, " "), code, said)
	}
	return out, code
}

// apply lets the official CLI apply a template to a new folder.
func apply(t *testing.T, reference string, options map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	values, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	out, err := testenv.Devcontainer(t, "templates", "apply", "--workspace-folder", dir, "-t", reference, "-a",
		string(values)).CombinedOutput()
	if err != nil {
		t.Fatalf("devcontainer templates apply %s: %v\n%s", reference, err, out)
	}
	return dir
}

// TestOfficialCLIAppliesTemplates pushes the collection and lets the official
// CLI apply each template, by tag and by digest. It must write what init does.
func TestOfficialCLIAppliesTemplates(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "devcontainer")
	addr := startRegistry(t)
	pushed, code := sbxOut(t, "templates", "push", addr+"/org/templates")
	if code != 0 {
		t.Fatal("the push failed")
	}
	for _, id := range templates.IDs() {
		digest := regexp.MustCompile(`(?m)^\S+/` + id + `@sha256:\w+$`).FindString(pushed)
		tmpl, err := templates.Load(id)
		if err != nil {
			t.Fatal(err)
		}
		for reference, options := range map[string]map[string]string{
			fmt.Sprintf("%s/org/templates/%s:0.2", addr, id): {},
			digest: {"timezone": "Europe/Berlin", "shell": "zsh", "extraPackages": "build-essential,redis-tools", "claudePreset": "claude-code"},
		} {
			dir := apply(t, reference, options)
			want, err := tmpl.Render(options)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range want {
				got, err := os.ReadFile(filepath.Join(dir, f.Path))
				if err != nil || !bytes.Equal(got, f.Content) {
					t.Errorf("%s: %s is not what init writes (%v)", reference, f.Path, err)
				}
			}
			files := 0
			if err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					files++
				}
				return err
			}); err != nil || files != len(want) {
				t.Errorf("%s: %d files, want %d (%v)", reference, files, len(want), err)
			}
			if _, code := sbxOut(t, "validate", dir); code != 0 {
				t.Errorf("%s: validate says %d", reference, code)
			}
		}
	}

	// A version that was published stays what it was.
	if again, code := sbxOut(t, "templates", "push", addr+"/org/templates"); code != 0 || again != pushed {
		t.Errorf("a second push of the same: exit %d\n%s", code, again)
	}
}

// TestOptionCannotInjectPolicy plays values that carry JSON. Our renderer keeps
// them one text; the official CLI puts them into the file as they are, and then
// validate, and with it sbx-init, refuses what came out.
func TestOptionCannotInjectPolicy(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "devcontainer")
	addr := startRegistry(t)
	if _, code := sbxOut(t, "templates", "push", addr+"/org/templates"); code != 0 {
		t.Fatal("the push failed")
	}
	tmpl, err := templates.Load("claude")
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{
		`x"], "mode": "host", "private": ["*`, `github"], "presets": ["github`, `github"]}, "network": {"mode": "host`,
		`x\`, `x"`, "x\ny", `${localEnv:HOME}`, `${templateOption:shell}`, `github" // `, `github"/*`,
	} {
		files, err := tmpl.Render(map[string]string{"gitPreset": value})
		if err != nil {
			t.Errorf("%q: %v", value, err)
			continue
		}
		if _, findings, err := templates.Check(files, templates.Facts{}); err != nil || len(findings) == 0 ||
			!strings.Contains(fmt.Sprint(findings), "unknown preset") {
			t.Errorf("%q: our renderer gives %v %v, want one unknown preset", value, findings, err)
		}
		dir := apply(t, addr+"/org/templates/claude", map[string]string{"gitPreset": value})
		if _, code := sbxOut(t, "validate", "--fail-on", "error", dir); code == 0 {
			text, _ := os.ReadFile(filepath.Join(dir, ".devcontainer", "sandbox.jsonc"))
			t.Errorf("%q: validate accepts what the official CLI wrote:\n%s", value, text)
		}
	}
}

// TestFeatureFirewall adds the Feature to a dev container that knows nothing of
// us, by one line, and tries to get out of it.
func TestFeatureFirewall(t *testing.T) {
	t.Parallel()
	p := newRepository(t, "sbx-c-feature")
	p.ownImages = true
	addr := startRegistry(t)
	if _, code := sbxOut(t, "templates", "push", addr+"/org/templates", "--features", addr+"/org/features"); code != 0 {
		t.Fatal("the push failed")
	}
	p.write(".devcontainer/Dockerfile",
		"FROM debian:bookworm-slim\nRUN apt-get update && apt-get install -y --no-install-recommends curl sudo && useradd -m -u 1000 dev && "+
			"echo 'dev ALL=(ALL) NOPASSWD:ALL' >/etc/sudoers.d/dev\n")
	p.write(".devcontainer/devcontainer.json", fmt.Sprintf(`{
  "build": {"dockerfile": "Dockerfile"},
  "remoteUser": "dev", // not root
  "runArgs": ["--dns=%s"],
  "postCreateCommand": "curl -sS --max-time 5 http://%s:%d/ && touch ~/reached-out; true"
}`, p.world.addr, p.world.addr, p.world.other))
	allow := fmt.Sprintf("allowed.example:%d", p.world.allowed)
	p.sbx("init", p.dir, "--extend", "--allow", allow)
	p.edit("devcontainer.json", templates.LocalFeature, addr+"/org/features/firewall:0")
	p.edit("devcontainer.json", `"allow": `, `"private": "allowed.example", "allow": `)
	if outcome, log := p.up(); outcome != "success" {
		t.Fatalf("devcontainer up: %s\n%s", outcome, log)
	}
	check := func(t *testing.T) {
		t.Helper()
		url := fmt.Sprintf("http://allowed.example:%d/", p.world.allowed)
		if out, err := p.exec("id -un; curl -sS --max-time 10 " + url); err != nil || !strings.Contains(out, "dev\nhello from outside") {
			t.Errorf("an allowed host: %q %v", out, err)
		}
		p.repel(t, []attack{
			{"a lifecycle command before the firewall", "test -e ~/reached-out"},
			{"another name", fmt.Sprintf("curl -sS --max-time 5 http://other.example:%d/", p.world.allowed)},
			{"an address", fmt.Sprintf("curl -sS --max-time 5 http://%s:%d/", p.world.addr, p.world.other)},
			{"sudo", "sudo -n true"},
			{"flushing the rules", "iptables -F || sudo iptables -F"},
			{"another policy", "echo {} >/etc/sbx/sandbox.jsonc"},
			{"another container", "echo {} >.devcontainer/devcontainer.json || mv .devcontainer x"},
			{"a git hook", "echo x >.git/hooks/pre-commit || mv .git x"},
			{"an editor's task", "echo {} >.vscode/tasks.json"},
		})
	}
	t.Run("Up", check)
	t.Run("LockIsTheOfficialCLIs", func(t *testing.T) {
		theirs, err := os.ReadFile(filepath.Join(p.dir, ".devcontainer", "devcontainer-lock.json"))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(p.dir, ".devcontainer", "devcontainer-lock.json")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		p.sbx("lock", "--update", p.dir)
		p.sbx("lock", "--check", p.dir)
		ours, err := os.ReadFile(path)
		if err != nil || strings.TrimSpace(string(ours)) != strings.TrimSpace(string(theirs)) {
			t.Errorf("%v: ours is\n%s\ntheirs is\n%s", err, ours, theirs)
		}
	})
	t.Run("Restart", func(t *testing.T) {
		p.must(p.docker, "restart", "-t", "1", p.containers()[0])
		check(t)
	})
	t.Run("SecondUp", func(t *testing.T) {
		p.must(p.docker, "stop", "-t", "1", p.containers()[0])
		if outcome, log := p.up(); outcome != "success" {
			t.Fatalf("devcontainer up: %s\n%s", outcome, log)
		}
		check(t)
	})
	if leaks := p.world.leaks("allowed.example"); len(leaks) > 0 {
		t.Errorf("arrived outside: %v", leaks)
	}
	t.Run("ProtectedPathReplacedOnTheHost", func(t *testing.T) {
		// The official CLI's first process ends with 0 when it is told to.
		testReplacedOnTheHost(t, p.in(t), 0)
		p.must(p.docker, "start", p.containers()[0])
		check(t)
	})
	t.Run("PolicyBreaksAtTheStart", func(t *testing.T) {
		id := p.containers()[0]
		p.must(p.docker, "exec", "-u", "root", id, "sh", "-c", "echo '{\"netwrok\": {}}' >/etc/sbx/sandbox.jsonc")
		p.must(p.docker, "restart", "-t", "1", id)
		for deadline := time.Now().Add(30 * time.Second); p.must(p.docker, "inspect", "--format", "{{.State.Running}}", id) == "true"; {
			if time.Now().After(deadline) {
				t.Fatal("the container goes on without a firewall")
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	// Without a login shell nothing waits but the Feature's own commands. The
	// firewall comes late, and then not at all.
	p.edit("devcontainer.json", `"remoteUser"`, `"userEnvProbe": "none", "remoteUser"`)
	command := fmt.Sprintf(`"curl -sS --max-time 5 http://%s:%d/ && touch ~/reached-out; true"`, p.world.addr, p.world.other)
	p.edit("devcontainer.json", `"postCreateCommand": `+command, `"onCreateCommand": `+command+`, "postStartCommand": `+command)
	tools := t.TempDir()
	p.must("cp", "../../bin/sbx-init-linux-"+runtime.GOARCH, filepath.Join(tools, "sbx-init"))
	p.edit("devcontainer.json", `"runArgs": [`,
		`"runArgs": ["--volume=`+tools+`:/real:ro", "--volume=`+tools+`/late:/usr/local/sbin/sbx-init:ro", `)
	late := func(t *testing.T, script string) (outcome, log string) {
		t.Helper()
		p.must(p.docker, "rm", "-f", p.containers()[0])
		script = "#!/bin/sh\nif [ \"$1\" = run ]; then " + script + "; fi\nexec /real/sbx-init \"$@\"\n"
		if err := os.WriteFile(filepath.Join(tools, "late"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		outcome, said := p.up()
		return outcome, string(said)
	}
	t.Run("LifecycleCommandWaitsForALateFirewall", func(t *testing.T) {
		if outcome, log := late(t, "sleep 3"); outcome != "success" {
			t.Fatalf("devcontainer up: %s\n%s", outcome, log)
		}
		p.must(p.docker, "stop", "-t", "1", p.containers()[0])
		if outcome, log := p.up(); outcome != "success" {
			t.Fatalf("devcontainer up: %s\n%s", outcome, log)
		}
		check(t)
	})
	t.Run("NoFirewallNoLifecycleCommand", func(t *testing.T) {
		if outcome, log := late(t, "sleep 2; exit 1"); outcome == "success" {
			t.Errorf("devcontainer up worked without a firewall: %s", log)
		}
	})
	if leaks := p.world.leaks("allowed.example"); len(leaks) > 0 {
		t.Errorf("arrived outside: %v", leaks)
	}
	t.Run("RootIsRefused", func(t *testing.T) {
		for _, user := range []string{`"root"`, `"0"`} {
			p.edit("devcontainer.json", `"remoteUser": "dev"`, `"remoteUser": `+user)
			out, err := p.build()
			if err == nil || !strings.Contains(out, "could undo the firewall") {
				t.Errorf("remoteUser %s: the build went on: %v %s", user, err, out)
			}
			p.edit("devcontainer.json", `"remoteUser": `+user, `"remoteUser": "dev"`)
		}
	})
	t.Run("OptionCannotInjectPolicy", func(t *testing.T) {
		p.edit("devcontainer.json", allow, `x.example'}, {'mode': 'host'`)
		out, err := p.build()
		if err == nil || !strings.Contains(out, "holds a character that no entry has") {
			t.Errorf("the build went on: %v %s", err, out)
		}
	})
}

// write writes a file of the project.
func (p *devProject) write(name, text string) {
	p.t.Helper()
	target := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(target, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}
