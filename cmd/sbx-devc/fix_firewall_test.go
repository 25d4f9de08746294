package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Many agents' containers raise their firewall in a hook, with the one command
// that sudo allows. The attack is fix itself: an option that breaks sudo leaves
// the container up, and open. Judged by the connections that arrive outside.
func TestFixSwitchesNoFirewallOff(t *testing.T) {
	t.Parallel()
	p := newRepository(t, "sbx-c-hooked")
	p.ownImages = true
	folder := filepath.Join(p.dir, ".devcontainer")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"devcontainer.json": `{
  "build": {"dockerfile": "Dockerfile"},
  "runArgs": ["--cap-add=NET_ADMIN", "--cap-add=NET_RAW"],
  "init": "true",
  "remoteUser": "node",
  "postStartCommand": "sudo /usr/local/bin/init-firewall.sh",
  "waitFor": "postStartCommand"
}
`,
		"Dockerfile": `FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends sudo iptables && rm -rf /var/lib/apt/lists/* && useradd -m -u 1000 node
COPY init-firewall.sh /usr/local/bin/
RUN chmod +x /usr/local/bin/init-firewall.sh && echo "node ALL=(root) NOPASSWD: /usr/local/bin/init-firewall.sh" > ` +
			`/etc/sudoers.d/node-firewall
USER node
`,
		"init-firewall.sh": "#!/bin/bash\nset -e\niptables -P OUTPUT DROP\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	world := listenOutside(t, p.world.addr)
	again := func() (string, int64) {
		for _, id := range p.containers() {
			p.must(p.docker, "rm", "-f", id)
		}
		outcome, log := p.up()
		t.Logf("devcontainer up: %s\n%s", outcome, lastLines(log, 5))
		before := world.arrived.Load()
		out, _ := p.exec(fmt.Sprintf("timeout 5 bash -c 'echo >/dev/tcp/%s/%d' && echo connected; echo asked", p.world.addr, world.port))
		if !strings.Contains(out, "asked") {
			t.Fatalf("nothing asked: %s", out)
		}
		return outcome, world.arrived.Load() - before
	}

	if outcome, arrived := again(); outcome != "success" || arrived != 0 {
		t.Fatalf("before fix: %s, %d connections arrived", outcome, arrived)
	}
	p.sbx("fix", p.dir)
	text, err := os.ReadFile(filepath.Join(folder, "devcontainer.json"))
	if err != nil || !strings.Contains(string(text), `"init": true`) {
		t.Fatalf("fix did nothing: %s (%v)", text, err)
	}
	if outcome, arrived := again(); outcome != "success" || arrived != 0 {
		t.Errorf("after fix: %s, %d connections arrived", outcome, arrived)
	}

	// The option that fix leaves out opens the container, and validate says so.
	p.edit("devcontainer.json", `"remoteUser"`, `"securityOpt": ["no-new-privileges"], "remoteUser"`)
	if outcome, arrived := again(); outcome == "success" || arrived == 0 {
		t.Errorf("with the option: %s, %d connections arrived; the test proves nothing", outcome, arrived)
	}
	var out strings.Builder
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: os.Getenv}
	if code := a.main(t.Context(), []string{"validate", p.dir}); code != exitFindings || !strings.Contains(out.String(), "[SBX824]") {
		t.Errorf("validate: exit %d: %s", code, &out)
	}
}

// listener counts the connections that reach it.
type listener struct {
	port    int
	arrived atomic.Int64
}

func listenOutside(t *testing.T, addr string) *listener {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(addr, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	out := &listener{port: l.Addr().(*net.TCPAddr).Port}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			out.arrived.Add(1)
			c.Close()
		}
	}()
	return out
}

// lastLines returns the end of a log.
func lastLines(log []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
