package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// strictProject is a repository with the template of two containers.
type strictProject struct {
	*devProject
	compose string
}

func newStrictProject(t *testing.T) *strictProject {
	t.Helper()
	p := &strictProject{devProject: newRepository(t, "sbx-c-strict"), compose: testenv.Program(t, "docker-compose")}
	p.must("sh", "-c", "cd "+p.dir+" && echo committed >file && git add file && git -c user.name=a -c user.email=a@b.example commit -qm first")
	p.sbx("init", p.dir, "--topology", "sidecar", "--allow", fmt.Sprintf("allowed.example:%d", p.world.allowed))
	p.edit("compose.yaml", "network_mode: bridge", "network_mode: bridge\n    dns: ["+p.world.addr+"]")
	p.privateWorld()
	t.Cleanup(p.down)
	return p
}

// service returns the container of a service.
func (p *strictProject) service(name string) string {
	p.t.Helper()
	return p.must(p.docker, "ps", "-aq", "--filter", "label=com.docker.compose.project=sbx-c-strict_devcontainer", "--filter",
		"label=com.docker.compose.service="+name)
}

// down removes what compose made; the official CLI keeps it.
func (p *strictProject) down() {
	p.must(p.compose, "-p", "sbx-c-strict_devcontainer", "-f", filepath.Join(p.dir, ".devcontainer", "compose.yaml"), "down", "-v",
		"--rmi", "all", "-t", "1")
	for _, image := range strings.Fields(p.must(p.docker, "images", "--format", "{{.Repository}}", "--filter",
		"reference=vsc-sbx-c-strict-*")) {
		p.must(p.docker, "rmi", "-f", image)
	}
}

// TestStrictDevcontainer brings the two containers up with the official CLI and
// tries from the agent's to get out, also after a restart of either.
func TestStrictDevcontainer(t *testing.T) {
	t.Parallel()
	p := newStrictProject(t)
	p.sbx("validate", p.dir)
	site, authority := newKeyedSite(t, p.world.addr, strictKey)
	p.addKeys(authority)
	if outcome, log := p.up(); outcome != "success" {
		said, _ := p.try(p.docker, "logs", p.service("firewall"))
		t.Fatalf("devcontainer up: %s\n%s\nthe firewall: %s", outcome, log, said)
	}
	url := fmt.Sprintf("http://allowed.example:%d/", p.world.allowed)
	attacks := []attack{
		{"ReachAnotherName", fmt.Sprintf("curl -sS --max-time 5 http://other.example:%d/", p.world.allowed)},
		{"ReachAnAddressByNumber", fmt.Sprintf("curl -sS --max-time 5 http://%s:%d/", p.world.addr, p.world.other)},
		{"WriteTheRepositoryOnTheHost", "touch /source/x || echo x >>/source/file || echo x >/source/.git/hooks/pre-commit"},
		{"PushToTheHost", "git push -q host HEAD:refs/heads/evil"},
		{"RemountTheSource", "mount -o remount,rw /source || umount /source"},
		{"WriteTheRootFileSystem", "touch /usr/local/bin/x || touch /etc/x"},
		{"SeeTheFirewall", "ls /run/sbx/ | grep . || pgrep -u root ."},
		{"TraceTheFirstProcess",
			"cat /proc/1/environ || ls /proc/1/fd || cat /usr/local/sbin/sbx-init | grep -q . || { kill -9 1; kill -STOP 1; sleep 0.1; " +
				"grep -q 'T (stopped)' /proc/1/status; }"},
		{"GetACapability", "unshare -Ur true || grep -E 'Cap(Prm|Eff|Bnd):.*[1-9a-f]' /proc/self/status"},
	}
	check := func(t *testing.T) {
		t.Helper()
		works := []struct{ script, want string }{
			{"id -un; pwd", "agent\n/home/agent/project"},
			{"cat file; git log --format=%s | tail -n1", "committed\nfirst"},
			{"curl -sS --max-time 10 " + url, "hello from outside"},
			{"claude --version", "(Claude Code)"},
		}
		var scripts []string
		for _, w := range works {
			scripts = append(scripts, w.script)
		}
		for i, r := range p.execAll(t, scripts) {
			if r.failed || !strings.Contains(r.out, works[i].want) {
				t.Errorf("%s: %q, want %q", works[i].script, r.out, works[i].want)
			}
		}
		p.repel(t, attacks)
		// Root in the agent's container is no more than the agent: only the
		// engine's user gets there.
		if out, err := p.try(p.docker, "exec", "-u", "root", p.service("agent"), "sh", "-c",
			"curl -sS --max-time 5 http://"+p.world.addr+fmt.Sprintf(":%d/", p.world.other)); err == nil {
			t.Errorf("root got out: %s", out)
		}
	}
	t.Run("Up", check)
	t.Run("Keys", func(t *testing.T) { testStrictKeys(t, &strictProject{p.in(t), p.compose}, site) })

	// The firewall's system is read-only, so the change lives as long as it does.
	t.Run("AllowWhileItRuns", func(t *testing.T) {
		reach := fmt.Sprintf("curl -sS --max-time 5 http://allowed.example:%d/", newSite(t))
		entry := strings.TrimSuffix(reach[strings.Index(reach, "http://")+len("http://"):], "/")
		if out, err := p.exec(reach); err == nil {
			t.Fatalf("open before it is allowed: %s", out)
		}
		var out bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: os.Getenv}
		if code := a.main(t.Context(), []string{"allow", "--project", p.dir, entry}); code != 0 ||
			!strings.Contains(out.String(), "until it ends") {
			t.Errorf("allow: exit %d: %s", code, &out)
		}
		if out, err := p.exec(reach); err != nil || !strings.Contains(out, "hello from the site") {
			_, records, _ := call(t, "logs", "--net", p.dir)
			t.Errorf("allowed: %q %v\n%s", out, err, records)
		}
		if code := a.main(t.Context(), []string{"allow", "--remove", "--project", p.dir, entry}); code != 0 {
			t.Errorf("allow --remove: exit %d: %s", code, &out)
		}
		if out, err := p.exec(reach); err == nil {
			t.Errorf("open after it was removed: %s", out)
		}
	})

	// The firewall, in another container, says which process it was.
	t.Run("RecordsNameTheProcess", func(t *testing.T) {
		wants := []string{`records\d+\.example: `, regexp.QuoteMeta(p.world.addr) + `:77\d\d/tcp: `}
		named := func(log, want string) bool {
			return regexp.MustCompile(want + `.*\[/usr/bin/curl, pid [0-9]+\]`).MatchString(log)
		}
		var log string
		for i := range 20 { // on a busy machine the search for one may end in vain
			if out, err := p.exec(fmt.Sprintf("curl -sS --max-time 5 http://records%d.example/ || curl -sS --max-time 5 http://%s:77%02[1]d/",
				i, p.world.addr)); err == nil {
				t.Errorf("it got out: %s", out)
			}
			var out bytes.Buffer
			a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: os.Getenv}
			if code := a.main(t.Context(), []string{"logs", "--net", p.dir}); code != 0 {
				t.Fatalf("logs --net: exit %d: %s", code, &out)
			}
			if log = out.String(); named(log, wants[0]) && named(log, wants[1]) {
				return
			}
		}
		for _, want := range wants {
			if !named(log, want) {
				t.Errorf("no process for %q in\n%s", want, log)
			}
		}
	})

	// The agent's commits come out as a bundle.
	bundle := filepath.Join(t.TempDir(), "work.bundle")
	p.must("sh", "-c",
		fmt.Sprintf(
			`export TMPDIR=%s; %s exec --workspace-folder %s git -c user.name=a -c user.email=a@b.example commit -q --allow-empty -m work &&
		%s exec --workspace-folder %s git bundle create - HEAD >%s && cd %s && git -c safe.directory='*' fetch -q %s && git -c `+
				`safe.directory='*' log -1 --format=%%s FETCH_HEAD | grep -x work`,
			p.tmp, p.cli, p.dir, p.cli, p.dir, bundle, p.dir, bundle))

	t.Run("FirewallDies", func(t *testing.T) {
		p.must(p.docker, "kill", p.service("firewall"))
		for _, target := range []string{url, fmt.Sprintf("http://%s:%d/", p.world.addr, p.world.other)} {
			if out, err := p.exec("curl -sS --max-time 5 " + target); err == nil {
				t.Errorf("without its firewall the agent reached %s: %s", target, out)
			}
		}
		if out, err := p.try(p.docker, "restart", "-t", "1", p.service("agent")); err == nil {
			t.Errorf("the agent's container starts without a firewall: %s", out)
		}
	})
	t.Run("SecondUp", func(t *testing.T) {
		if outcome, log := p.up(); outcome != "success" {
			t.Fatalf("devcontainer up: %s\n%s", outcome, log)
		}
		check(t)
		if out, err := p.exec("git log --format=%s"); err != nil || !strings.Contains(out, "work") {
			t.Errorf("the agent's commit is gone: %s %v", out, err)
		}
	})
	if leaks := p.world.leaks("allowed.example"); len(leaks) > 0 {
		t.Errorf("arrived outside: %v", leaks)
	}

	t.Run("BrokenPolicyFailsUp", func(t *testing.T) {
		p.edit("sandbox.jsonc", `"network"`, `"netwrok"`)
		// The image that the broken policy goes into takes the name from this one.
		sound := p.must(p.docker, "inspect", "--format", "{{.Image}}", p.service("firewall"))
		defer func() { _, _ = p.try(p.docker, "rmi", sound) }()
		p.must(p.compose, "-p", "sbx-c-strict_devcontainer", "-f", filepath.Join(p.dir, ".devcontainer", "compose.yaml"), "down", "-t", "1")
		started := time.Now()
		if outcome, log := p.up(); outcome == "success" {
			said, _ := p.try(p.docker, "logs", p.service("firewall"))
			t.Errorf("up worked with a broken policy after %s: %s\n%s", time.Since(started), said, log)
		}
		// An old Compose starts it now and then all the same: its first process waits for the firewall for half a minute.
		until(t, "the agent's container does not run", func() bool {
			id := p.service("agent")
			return id == "" || p.must(p.docker, "inspect", "--format", "{{.State.Running}}", id) == "false"
		})
	})
	if _, err := os.Stat(filepath.Join(p.dir, "x")); err == nil {
		t.Error("a file of the agent's is on the host")
	}
}

// until looks again and again; a minute or two is more than anything here takes.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within minutes: %s", what)
		}
	}
}
