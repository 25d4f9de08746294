package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// The layout of Anthropic's reference dev container: an unprivileged USER at the
// end of the Dockerfile, a script that sets a packet filter, sudo for that script
// alone, and a hook that runs it. The parts that need the internet are left out.
const (
	referenceDockerfile = `FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends curl sudo iptables && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 1000 node && mkdir -p /workspace /home/node/.claude && chown -R node:node /workspace /home/node/.claude
WORKDIR /workspace
USER node
ENV SHELL=/bin/bash
COPY init-firewall.sh /usr/local/bin/
USER root
RUN chmod +x /usr/local/bin/init-firewall.sh && \
  echo "node ALL=(root) NOPASSWD: /usr/local/bin/init-firewall.sh" > /etc/sudoers.d/node-firewall && \
  chmod 0440 /etc/sudoers.d/node-firewall
USER node
`
	referenceScript = `#!/bin/bash
set -euo pipefail
for domain in \
    "api.anthropic.com" \
    "telemetry.example" \
    "docs.example.org"; do
  echo "allowing $domain"
done
iptables -P OUTPUT DROP
`
	referenceConfig = `{
  "name": "Sandbox", // ours
  "build": {"dockerfile": "Dockerfile"},
  "runArgs": ["--cap-add=NET_ADMIN", "--cap-add=NET_RAW", "--dns=%s"],
  "remoteUser": "node",
  "mounts": ["source=claude-code-config-${devcontainerId},target=/home/node/.claude,type=volume"],
  "containerEnv": {"CLAUDE_CONFIG_DIR": "/home/node/.claude"},
  "workspaceMount": "source=${localWorkspaceFolder},target=/workspace,type=bind,consistency=delegated",
  "workspaceFolder": "/workspace",
  "postStartCommand": "sudo /usr/local/bin/init-firewall.sh",
  "waitFor": "postStartCommand"
}
`
)

// TestExtendTakesOverTheReferenceContainer extends a copy of Anthropic's dev
// container and starts it with the official CLI: our firewall takes the place of
// the script, from the copy of the Feature that this program carries.
func TestExtendTakesOverTheReferenceContainer(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	p := newRepository(t, "sbx-c-reference")
	p.ownImages = true
	p.write(".devcontainer/Dockerfile", referenceDockerfile)
	p.write(".devcontainer/init-firewall.sh", referenceScript)
	p.write(".devcontainer/devcontainer.json", fmt.Sprintf(referenceConfig, p.world.addr))

	code, _, said := call(t, "init", "--extend", p.dir, "--allow", fmt.Sprintf("allowed.example:%d", p.world.allowed))
	if code != 0 {
		t.Fatalf("init --extend: exit %d: %s", code, said)
	}
	for _, want := range []string{
		"not allowed: telemetry.example: the dev container's own firewall allows it (.devcontainer/init-firewall.sh:5); " +
			"--allow telemetry.example adds it",
		`postStartCommand no longer runs "sudo /usr/local/bin/init-firewall.sh"`, "containerUser is root", "Claude Code's installer",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("init --extend does not say %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "login is lost") || strings.Contains(said, "nothing here installs") ||
		strings.Contains(said, "not allowed: api.anthropic.com") {
		t.Errorf("init --extend proposes what is there:\n%s", said)
	}
	config, err := os.ReadFile(filepath.Join(p.dir, ".devcontainer", "devcontainer.json"))
	if err != nil || !strings.Contains(string(config), "// ours") || strings.Contains(string(config), "postStartCommand") ||
		strings.Contains(string(config), "telemetry.example") {
		t.Errorf("%v\n%s", err, config)
	}
	p.sbx("validate", "--fail-on", "error", p.dir)
	p.edit("devcontainer.json", `"allow": `, `"private": "allowed.example", "allow": `)

	if outcome, log := p.up(); outcome != "success" {
		t.Fatalf("devcontainer up: %s\n%s", outcome, log)
	}
	if out, err := p.exec(fmt.Sprintf("id -un; curl -sS --max-time 10 http://allowed.example:%d/", p.world.allowed)); err != nil ||
		!strings.Contains(out, "node\nhello from outside") {
		t.Errorf("an allowed host: %q %v", out, err)
	}
	t.Run("ClaudeIsThereAndAsksNothing", func(t *testing.T) {
		p := p.in(t)
		if out, err := p.exec("git --version"); err != nil { // which the image lacked
			t.Errorf("%v: %s", err, out)
		}
		out, err := p.exec(`bash -lc 'command -v claude; stat -c %a /usr/local/bin/claude; cat $CLAUDE_CONFIG_DIR/.claude.json; ` +
			strings.ReplaceAll(askMode, "'", `'\''`) + `'`)
		if err != nil || !strings.HasPrefix(out, "/usr/local/bin/claude\n111\n{\"hasCompletedOnboarding\":true}\n") ||
			!strings.Contains(out, unasked) {
			t.Errorf("%v: %s", err, out)
		}
		root := func(script string) { p.must(p.docker, "exec", "-u", "root", p.containers()[0], "sh", "-c", script) }
		root(`sed -i 's/"mode": "allowlist"/"mode": "audit"/' /etc/sbx/sandbox.jsonc; sbx-init reload`)
		if out, err = p.exec("bash -lc '" + strings.ReplaceAll(askMode, "'", `'\''`) + "'"); err != nil ||
			strings.Contains(out, "bypassPermissions") {
			t.Errorf("in mode audit it does not ask: %v: %s", err, out)
		}
		root(`sed -i 's/"mode": "audit"/"mode": "allowlist"/' /etc/sbx/sandbox.jsonc; sbx-init reload`)
	})
	t.Run("AllowWhileItRuns", func(t *testing.T) {
		p := p.in(t)
		reach := fmt.Sprintf("curl -sS --max-time 5 http://allowed.example:%d/", newSite(t))
		entry := strings.TrimSuffix(reach[strings.Index(reach, "http://")+len("http://"):], "/")
		for _, step := range []struct {
			args []string
			says string
			open bool
		}{{[]string{"allow"}, "is open now in the dev container", true},
			{[]string{"allow", "--remove"}, "is closed now in the dev container", false}} {
			code, out, said := call(t, append(step.args, "--project", p.dir, entry)...)
			if code != 0 || !strings.Contains(out, step.says) {
				t.Errorf("%q: exit %d: %s%s", step.args, code, out, said)
			}
			if out, err := p.exec(reach); (err == nil && strings.Contains(out, "hello from the site")) != step.open {
				_, records, _ := call(t, "logs", "--net", p.dir)
				t.Errorf("%q: %v %s\n%s", step.args, err, out, records)
			}
			config, err := os.ReadFile(filepath.Join(p.dir, ".devcontainer", "devcontainer.json"))
			if err != nil || !strings.Contains(string(config), "// ours") || strings.Contains(string(config), ","+entry+`"`) != step.open {
				t.Errorf("%q: %v\n%s", step.args, err, config)
			}
		}
	})
	p.repel(t, []attack{
		{"another name", fmt.Sprintf("curl -sS --max-time 5 http://other.example:%d/", p.world.allowed)},
		{"an address", fmt.Sprintf("curl -sS --max-time 5 http://%s:%d/", p.world.addr, p.world.other)},
		{"the old script with sudo", "sudo -n /usr/local/bin/init-firewall.sh"},
		{"another container", "echo {} >.devcontainer/devcontainer.json || mv .devcontainer x"},
		{"another firewall for the next build", "echo >.devcontainer/firewall/install.sh"},
	})
	if leaks := p.world.leaks("allowed.example"); len(leaks) > 0 {
		t.Errorf("arrived outside: %v", leaks)
	}

	// Each of the two changes is needed: so the container was written before.
	t.Run("OldHookFails", func(t *testing.T) {
		p := p.in(t)
		p.must(p.docker, "rm", "-f", p.containers()[0])
		p.edit("devcontainer.json", `"remoteUser": `, `"postStartCommand": "sudo /usr/local/bin/init-firewall.sh", "remoteUser": `)
		failsToComeUp(t, p)
		p.edit("devcontainer.json", `"postStartCommand": "sudo /usr/local/bin/init-firewall.sh", `, "")
	})
	t.Run("OldUserFails", func(t *testing.T) {
		p := p.in(t)
		for _, id := range p.containers() {
			p.must(p.docker, "rm", "-f", id)
		}
		p.edit("devcontainer.json", `"containerUser": "root"`, `"containerUser": "node"`)
		failsToComeUp(t, p)
	})
}

// TestExtendOfACompose extends a dev container of Compose, whose own files stay as they are,
// and starts it with the official CLI: what acts on the host is read-only, by a Compose file
// of ours, and the agent is no root.
func TestExtendOfACompose(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	testenv.Program(t, "docker-compose")
	p := newRepository(t, "sbx-c-composed")
	p.ownImages = true
	compose := fmt.Sprintf(`version: "3"
services:
  app:
    build: {context: .., dockerfile: .devcontainer/Dockerfile}
    user: dev
    network_mode: bridge
    dns: [%s]
    volumes: ["../..:/workspaces:cached"]
    command: sleep infinity
`, p.world.addr)
	p.write(".devcontainer/docker-compose.yml", compose)
	p.write(".devcontainer/Dockerfile", `FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends curl && rm -rf /var/lib/apt/lists/* && useradd --create-home --uid 1000 dev
`)
	p.write(".devcontainer/devcontainer.json", `{
  // ours
  "dockerComposeFile": "docker-compose.yml", "service": "app",
  "workspaceFolder": "/workspaces/${localWorkspaceFolderBasename}"
}
`)
	p.write(".vscode/settings.json", "{}\n")
	p.write("../neighbour", "another project's, or the user's\n")
	if code, _, said := call(t, "init", "--extend", p.dir, "--allow", fmt.Sprintf("allowed.example:%d", p.world.allowed)); code != 0 {
		t.Fatalf("init --extend: exit %d: %s", code, said)
	}
	clone := p.dir + "-of-a-colleague"
	if err := os.Rename(p.dir, clone); err != nil {
		t.Fatal(err)
	}
	p.dir = clone
	p.sbx("validate", "--fail-on", "error", p.dir)
	if text, err := os.ReadFile(filepath.Join(p.dir, ".devcontainer/docker-compose.yml")); err != nil || string(text) != compose {
		t.Errorf("the user's own Compose file: %v\n%s", err, text)
	}
	p.edit("devcontainer.json", `"allow": `, `"private": "allowed.example", "allow": `)
	if outcome, log := p.up(); outcome != "success" {
		t.Fatalf("devcontainer up: %s\n%s", outcome, log)
	}
	if out, err := p.exec(fmt.Sprintf("id -un; git --version && echo x >file && curl -sS --max-time 10 http://allowed.example:%d/",
		p.world.allowed)); err != nil ||
		!strings.HasPrefix(out, "dev\n") || !strings.Contains(out, "hello from outside") {
		t.Errorf("work: %q %v", out, err)
	}
	p.repel(t, []attack{
		{"another name", fmt.Sprintf("curl -sS --max-time 5 http://other.example:%d/", p.world.allowed)},
		{"another container", "echo {} >.devcontainer/devcontainer.json || mv .devcontainer x || echo >.devcontainer/sandbox.compose.yaml"},
		{"a hook", "echo >.git/hooks/pre-commit || git config core.hooksPath x || mv .git y"},
		{"the folder around the project", "cat /workspaces/neighbour || touch /workspaces/new || ls -A /workspaces | grep -v '^sbx-c-composed$'"},
		{"a hook of husky, and git's own elsewhere", "echo >.husky/pre-commit || mkdir .idea/x || echo >commondir || rm -r .githooks"},
		{"the editor's settings", "echo >.vscode/settings.json || mv .vscode z"},
	})
	if leaks := p.world.leaks("allowed.example"); len(leaks) > 0 {
		t.Errorf("arrived outside: %v", leaks)
	}
}

func failsToComeUp(t *testing.T, p *devProject) {
	t.Helper()
	if outcome, log := p.up(); outcome == "success" {
		t.Errorf("the container came up: %s", log)
	}
}
