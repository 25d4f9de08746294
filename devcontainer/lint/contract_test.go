package lint_test

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
)

// sidecar is a sandbox of two services that holds.
func sidecar() devcontainer.Memory {
	return devcontainer.Memory{
		".devcontainer/devcontainer.json": `{"dockerComposeFile": "compose.yaml", "service": "agent", "workspaceFolder": ` +
			`"/project", "remoteUser": "agent"}`,
		".devcontainer/sandbox.jsonc": "{}",
		".devcontainer/compose.yaml": `services:
  firewall:
    image: ghcr.io/org/claude-sandbox:1.0.0
    cap_add: [NET_ADMIN]
    command: [sbx-init, run]
  agent:
    image: ghcr.io/org/claude-sandbox:1.0.0
    network_mode: service:firewall
    security_opt: [no-new-privileges]
    volumes:
      - "..:/project"
      - "./:/project/.devcontainer:ro"
`,
	}
}

// Each promise of a sandbox made with Compose, broken one at a time.
func TestContractOfCompose(t *testing.T) {
	const file = ".devcontainer/compose.yaml"
	for _, c := range []struct{ name, old, replacement, want string }{
		{"it holds", "", "", ""},
		{"the firewall may not filter", "cap_add: [NET_ADMIN]", "cap_drop: [ALL]", "SBX801 firewall"},
		{"the agent may change it", "    security_opt: [no-new-privileges]\n", "    cap_add: [NET_ADMIN]\n", "SBX805 NET_ADMIN"},
		{"the agent is privileged", "    security_opt: [no-new-privileges]\n", "    privileged: true\n", "SBX402 true; SBX805 true"},
		{"configuration writable", "      - \"./:/project/.devcontainer:ro\"\n", "", `SBX806 "..:/project"`},
		{"configuration read-only, the folder as a dot", "      - \"./:/project/.devcontainer:ro\"\n",
			"      - \".:/project/.devcontainer:ro\"\n", ""},
		{"configuration covered by a tmpfs", "      - \"./:/project/.devcontainer:ro\"\n", "    tmpfs: /project/.devcontainer\n", ""},
		{"no host folder, nothing to protect", "      - \"..:/project\"\n      - \"./:/project/.devcontainer:ro\"\n", "      - \"/project\"\n",
			`SBX317 "/project"`},
		{"one service", "    network_mode: service:firewall\n", "    cap_add: [NET_ADMIN]\n", ""},
		{"one service without the capability", "    network_mode: service:firewall\n", "", "SBX801 agent"},
		{"entrypoint replaced", "    network_mode: service:firewall\n", "    cap_add: [NET_ADMIN]\n    entrypoint: [sleep, infinity]\n",
			"SBX802 [sleep, infinity]"},
		{"entrypoint with the firewall", "    network_mode: service:firewall\n",
			"    cap_add: [NET_ADMIN]\n    entrypoint: [sbx-init, run, --]\n", ""},
		{"setuid works", "    network_mode: service:firewall\n    security_opt: [no-new-privileges]\n", "    cap_add: [NET_ADMIN]\n", `SBX805 {`},
	} {
		tree := sidecar()
		if !strings.Contains(tree[file], c.old) {
			t.Fatalf("%s: no %q", c.name, c.old)
		}
		tree[file] = strings.Replace(tree[file], c.old, c.replacement, 1)
		if got := marked(t, tree, false); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	// The reference CLI drops readonly on the way to Compose, and its volume wins.
	open := sidecar()
	open[".devcontainer/devcontainer.json"] = strings.Replace(open[".devcontainer/devcontainer.json"], "{",
		`{"mounts": ["type=bind,source=${localWorkspaceFolder}/.devcontainer,target=/project/.devcontainer,readonly"], `, 1)
	const dropped = `SBX806 "..:/project"; SBX310 "type=bind,source=${localWorkspaceFolder}/.devcontainer,` +
		`target=/project/.devcontainer,readonly"`
	if got := marked(t, open, false); got != dropped {
		t.Errorf("read-only by mounts: %s", got)
	}
	tree := sidecar()
	tree[".devcontainer/devcontainer.json"] = strings.Replace(tree[".devcontainer/devcontainer.json"], "{", `{"capAdd": ["NET_ADMIN"], `, 1)
	if got := marked(t, tree, false); got != `SBX805 ["NET_ADMIN"]` {
		t.Errorf("NET_ADMIN by the configuration: %s", got)
	}
}

// Scripts that people copy: rules for IPv4, with DNS and SSH to anywhere, that close
// last.
func TestFirewallScriptsLeak(t *testing.T) {
	const closed = "ip6tables -P OUTPUT DROP\niptables -P OUTPUT DROP\n"
	for _, c := range []struct{ name, script, want string }{
		{"closed",
			closed +
				"iptables -A OUTPUT -d 192.0.2.1 -p tcp --dport 443 -j ACCEPT\n" +
				"iptables -A OUTPUT -m state --state ESTABLISHED,RELATED -j ACCEPT\n", ""},
		{"IPv6 open", "iptables -P OUTPUT DROP\n", "SBX808 iptables"},
		{"IPv6 switched off", "sysctl -w net.ipv6.conf.all.disable_ipv6=1\niptables -P OUTPUT DROP\n", ""},
		{"DNS to anywhere", closed + "iptables -A OUTPUT -p udp --dport 53 -j ACCEPT\n", "SBX808 iptables"},
		{"DNS to one server", closed + "iptables -A OUTPUT -p udp -d 192.0.2.53 --dport 53 -j ACCEPT\n", ""},
		{"SSH to anywhere", closed + "iptables -A OUTPUT -p tcp --dport 22 -j ACCEPT\n", "SBX808 iptables"},
		{"the host's network", closed + "HOST_NETWORK=x\niptables -A OUTPUT -d \"$HOST_NETWORK\" -j ACCEPT\n", "SBX808 iptables"},
		{"closes last", "ip6tables -P OUTPUT DROP\ncurl -s https://api.example.com/meta >/m\niptables -P OUTPUT DROP\n", "SBX808 iptables"},
		{"no firewall", "echo hello\n", ""},
		{"a last line that no shell reads", closed + "iptables -A OUTPUT -p udp --dport 53 -j ACCEPT\nexit 0\n(\n", "SBX808 iptables"},
		{"too much", strings.Repeat("true\n", 5000) + "iptables -P OUTPUT DROP\n", "SBX808 "},
	} {
		tree := around()
		tree[".devcontainer/devcontainer.json"] = with(t, `"image": "a:1"`, `"build": {"dockerfile": "Dockerfile"}`)
		tree[".devcontainer/Dockerfile"] = "FROM " + pinned + "\nCOPY init-firewall.sh /usr/local/bin/\n"
		tree[".devcontainer/init-firewall.sh"] = "#!/bin/bash\nset -e\n" + c.script
		if got := marked(t, tree, false); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestPolicyAgainstTheConfiguration(t *testing.T) {
	for _, c := range []struct{ name, settings, more, want string }{
		{"npm without a preset", `{}`, `"postCreateCommand": "npm ci"`, `SBX814 "npm ci"`},
		{"npm by preset", `{"network": {"presets": ["npm"]}}`, `"postCreateCommand": "npm ci"`, ""},
		{"npm by an entry of its own", `{"network": {"allow": ["*.npmjs.org"]}}`, `"postCreateCommand": "cd x && npm install"`, ""},
		{"npm that fetches nothing", `{}`, `"postCreateCommand": "npm test"`, ""},
		{"an array", `{}`, `"onCreateCommand": ["pip", "install", "flask"]`, `SBX814 ["pip", "install", "flask"]`},
		{"in parallel", `{"network": {"presets": ["go"]}}`, `"postStartCommand": {"a": "go mod download", "b": "cargo fetch"}`,
			`SBX814 "cargo fetch"`},
		{"an address", `{}`, `"postCreateCommand": "curl -fsSo x https://files.example.com/x"`,
			`SBX814 "curl -fsSo x https://files.example.com/x"`},
		{"an address that is allowed", `{"network": {"allow": ["files.example.com"]}}`,
			`"postCreateCommand": "curl -fsSo x https://files.example.com/x"`, ""},
		{"this machine", `{}`, `"postStartCommand": "curl http://localhost:3000/health"`, ""},
		{"published", `{}`, `"appPort": ["127.0.0.1:8080:80"]`, `SBX813 "127.0.0.1:8080:80"`},
		{"published by runArgs", `{}`, `"runArgs": ["-p", "127.0.0.1:3000:3000"]`, `SBX813 "-p"`},
		{"let in", `{"network": {"inbound": [80]}}`, `"appPort": ["127.0.0.1:8080:80"]`, ""},
		{"forwarded", `{}`, `"forwardPorts": [3000]`, ""},
	} {
		tree := around()
		tree[".devcontainer/sandbox.jsonc"] = c.settings
		tree[".devcontainer/devcontainer.json"] = with(t, `"overrideCommand": false,`, `"overrideCommand": false, `+c.more+`,`)
		if got := marked(t, tree, false); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAgentWithoutASandbox(t *testing.T) {
	for _, c := range []struct{ name, config, want string }{
		{"in a hook", image(`"postAttachCommand": ["claude", "--dangerously-skip-permissions"]`), `SBX811 "--dangerously-skip-permissions"`},
		{"in the editor's settings",
			image(`"customizations": {"vscode": {"settings": {"claudeCode.initialPermissionMode": "bypassPermissions"}}}`),
			`SBX811 "bypassPermissions"`},
		{"asking", image(`"postAttachCommand": "claude"`), ""},
		{"shared login", image(`"mounts": ["source=claude,target=/home/dev/.claude,type=volume"]`),
			`SBX810 "source=claude,target=/home/dev/.claude,type=volume"`},
		{"login of its own", image(`"mounts": ["source=claude-${devcontainerId},target=/home/dev/.claude,type=volume"]`), ""},
		{"a cache is nobody's login", image(`"mounts": ["source=go,target=/go/pkg,type=volume"]`), ""},
	} {
		if got := marked(t, devcontainer.Memory{".devcontainer/devcontainer.json": c.config}, false); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	if got := marked(t, built("FROM node:22\nUSER node\nCMD claude --dangerously-skip-permissions\n", "}"),
		false); got != "SBX811 --dangerously-skip-permissions" {
		t.Error(got)
	}
}
