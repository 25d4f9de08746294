package lint_test

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
)

// extended is a dev container with the firewall Feature that holds, and one of
// its lines changed.
func extended(t *testing.T, old, replacement string) devcontainer.Memory {
	t.Helper()
	const text = `{
  "image": "mcr.microsoft.com/devcontainers/base:debian",
  "remoteUser": "vscode",
  "features": {"ghcr.io/org/claude-sandbox/features/firewall:0.1.0": {}},
  "mounts": ["type=bind,source=${localWorkspaceFolder}/.devcontainer,target=${containerWorkspaceFolder}/.devcontainer,readonly"]
}`
	if !strings.Contains(text, old) {
		t.Fatalf("no %q", old)
	}
	return devcontainer.Memory{".devcontainer/devcontainer.json": strings.Replace(text, old, replacement, 1)}
}

const (
	userLine    = `  "remoteUser": "vscode",` + "\n"
	baseImage   = `"image": "mcr.microsoft.com/devcontainers/base:debian"`
	featureName = "ghcr.io/org/claude-sandbox/features/firewall:0.1.0"
)

// Ways to open a dev container whose firewall is the Feature.
func TestContractOfTheFeature(t *testing.T) {
	for _, c := range []struct{ name, old, replacement, want string }{
		{"it holds", "", "", ""},
		{"the agent never asks, behind the firewall", userLine, userLine + `"postAttachCommand": "claude --dangerously-skip-permissions",`, ""},
		{"root", `"vscode"`, `"root"`, `SBX805 "root"`},
		{"root by number", `"vscode"`, `"0:0"`, `SBX805 "0:0"`},
		{"root by default", baseImage + ",\n" + userLine, `"image": "debian:13",`, `SBX805 "` + featureName + `"`},
		{"a user that the image's label may name", userLine, "", ""},
		{"first process of the agent's", userLine, `"containerUser": "vscode",`, `SBX821 "vscode"`},
		{"first process of root's", userLine, userLine + `"containerUser": "root",`, ""},
		{"first process by runArgs", userLine, userLine + `"runArgs": ["-u", "1000"],`, `SBX821 "-u"`},
		{"setuid works again", userLine, userLine + `"securityOpt": ["no-new-privileges=false"],`, `SBX805 "no-new-privileges=false"`},
		{"setuid works again by runArgs", userLine, userLine + `"runArgs": ["--security-opt=no-new-privileges:false"],`,
			`SBX805 "--security-opt=no-new-privileges:false"`},
		{"setuid off twice", userLine, userLine + `"securityOpt": ["no-new-privileges"],`, ""},
		{"nobody asks a login shell", userLine, userLine + `"userEnvProbe": "none",`, `SBX820 "none"`},
		{"a shell that reads no profile", userLine, userLine + `"userEnvProbe": "interactiveShell",`, `SBX820 "interactiveShell"`},
		{"a login shell", userLine, userLine + `"userEnvProbe": "loginShell",`, ""},
		{"volume over the gate", `"mounts": [`, `"mounts": ["type=volume,source=a,target=/etc/profile.d",`,
			`SBX819 "type=volume,source=a,target=/etc/profile.d"`},
		{"volume over the gate's folder", `"mounts": [`, `"mounts": ["type=volume,source=a,target=/etc",`,
			`SBX819 "type=volume,source=a,target=/etc"`},
		{"file over the gate", `"mounts": [`, `"mounts": ["type=bind,source=${localEnv:HOME}/p,target=/etc/profile.d/00-sbx.sh",`,
			`SBX819 "type=bind,source=${localEnv:HOME}/p,target=/etc/profile.d/00-sbx.sh"`},
		{"volume over the state", `"mounts": [`, `"mounts": [{"type": "volume", "source": "a", "target": "/run/sbx/"},`,
			`SBX819 {"type": "volume", "source": "a", "target": "/run/sbx/"}`},
		{"memory over the state", userLine, userLine + `"runArgs": ["--tmpfs=/run/sbx:mode=0755", "--tmpfs", "/run"],`, ""},
		{"memory over the policy", userLine, userLine + `"runArgs": ["--tmpfs=/etc/sbx"],`, `SBX819 "--tmpfs=/etc/sbx"`},
		{"volume over the program", userLine, userLine + `"runArgs": ["-v", "a:/usr/local/sbin"],`, `SBX819 "-v"`},
		{"volume over the policy", `"mounts": [`, `"mounts": ["source=a,target=/etc/../etc/sbx",`, `SBX819 "source=a,target=/etc/../etc/sbx"`},
		{"volume beside them", `"mounts": [`, `"mounts": ["source=a,target=/usr/local/share/other", "source=b,target=/etc/sbx-other",`, ""},
		{"forwarding", userLine, userLine + `"runArgs": ["--sysctl", "net.ipv4.ip_forward=1"],`, `SBX818 "--sysctl"`},
		{"forwarding, with slashes", userLine, userLine + `"runArgs": ["--sysctl=net/ipv6/conf/all/forwarding=1"],`,
			`SBX818 "--sysctl=net/ipv6/conf/all/forwarding=1"`},
		{"loopback from elsewhere", userLine, userLine + `"runArgs": ["--sysctl=net.ipv4.conf.all.route_localnet=1"],`,
			`SBX818 "--sysctl=net.ipv4.conf.all.route_localnet=1"`},
		{"forwarding off", userLine, userLine + `"runArgs": ["--sysctl=net.ipv4.ip_forward=0", "--sysctl=net.core.somaxconn=1024"],`, ""},
		{"configuration writable", ",readonly", "",
			"SBX806 [\"type=bind,source=${localWorkspaceFolder}/.devcontainer,target=${containerWorkspaceFolder}/.devcontainer\"]"},

		{"needs what the default does not allow", userLine, userLine + `"postCreateCommand": "npm ci",`, `SBX814 "npm ci"`},
		{"needs what the default allows", userLine, userLine + `"postCreateCommand": "git clone https://github.com/a/b",`, ""},
		{"needs what the options allow", "firewall:0.1.0\": {}},",
			"firewall:0.1.0\": {\"presets\": \"anthropic, npm\", \"allow\": \"docs.example.com\"}}, \"postCreateCommand\": " +
				"\"npm ci && curl https://docs.example.com/x\",", ""},
		{"an option that is no entry", "firewall:0.1.0\": {}},", "firewall:0.1.0\": {\"allow\": \"https://x.example/y\"}},",
			`SBX210 "https://x.example/y"`},
		{"an unknown preset", "firewall:0.1.0\": {}},", "firewall:0.1.0\": {\"presets\": \"antropic\"}},", `SBX210 "antropic"`},
		{"an option that is a variable", "firewall:0.1.0\": {}},",
			"firewall:0.1.0\": {\"allow\": \"${localEnv:HOSTS}\"}}, \"postCreateCommand\": \"npm ci\",", ""},
		{"published", userLine, userLine + `"appPort": ["127.0.0.1:8080:80"],`, `SBX813 "127.0.0.1:8080:80"`},
		{"another firewall needs no gate of ours", "ghcr.io/org/claude-sandbox/features/firewall:0.1.0\": {}",
			"ghcr.io/a/b/c:1.0.0\": {}}, \"userEnvProbe\": \"none\", \"capAdd\": [\"NET_ADMIN\"], \"overrideCommand\": false, \"securityOpt\": " +
				"[\"no-new-privileges\"], \"containerEnv\": {\"F\": \"init-firewall\"", ""},
		{"another registry", "ghcr.io/org/claude-sandbox/features/firewall:0.1.0\": {}}",
			"registry.example.com:5000/mirror/firewall@" + anyDigest + "\": {}}, \"userEnvProbe\": \"none\"", `SBX820 "none"`},
		{"a tarball", "ghcr.io/org/claude-sandbox/features/firewall:0.1.0\": {}}",
			"https://example.com/devcontainer-feature-firewall.tgz\": {}}, \"userEnvProbe\": \"none\"", `SBX820 "none"`},
		{"another Feature", "ghcr.io/org/claude-sandbox/features/firewall:0.1.0\": {}}",
			"ghcr.io/a/b/firewall-tools:1.0.0\": {}}, \"userEnvProbe\": \"none\"", ""},
	} {
		if got := marked(t, extended(t, c.old, c.replacement), false); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestTheFeatureInAFolder(t *testing.T) {
	for _, c := range []struct{ name, meta, want string }{
		{"ours under another name", `{"id": "wall", "version": "1.0.0", "name": "W", "entrypoint": "/usr/local/share/sbx/entrypoint.sh"}`,
			"SBX820"},
		{"another one", `{"id": "wall", "version": "1.0.0", "name": "W"}`, ""},
	} {
		tree := extended(t, featureName+"\": {}}", "./wall\": {}}, \"userEnvProbe\": \"none\"")
		tree[".devcontainer/wall/devcontainer-feature.json"] = c.meta
		tree[".devcontainer/wall/install.sh"] = "#!/bin/sh\n"
		if got := ids(t, tree); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// With Compose the same holds for what the service says.
func TestTheFeatureWithCompose(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"user: root", ""},
		{"user: dev", "SBX821"},
		{"security_opt: ['no-new-privileges:false']", "SBX805"},
		{"volumes: [a:/etc/profile.d]", "SBX819"},
		{"tmpfs: /usr/local/sbin", "SBX819"},
		{"configs: [{source: a, target: /etc/sbx/sandbox.jsonc}]", "SBX819"},
		{"sysctls: {net.ipv4.ip_forward: 1}", "SBX818"},
		{"sysctls: ['net.ipv4.conf.eth0.accept_source_route=1']", "SBX818"},
		{"sysctls: {net.ipv4.ip_forward: 0}", ""},
		{"volumes: [a:/data]", ""},
	} {
		tree := devcontainer.Memory{
			".devcontainer/devcontainer.json": `{"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": "/", "remoteUser": "dev", ` +
				`"features": {"` + featureName + `": {}}}`,
			".devcontainer/c.yaml": "services:\n  a:\n    image: debian:13\n    " + c.line + "\nvolumes: {a: }\nconfigs: {a: {file: c.yaml}}\n",
		}
		if got := ids(t, tree); got != c.want {
			t.Errorf("%s: got %q, want %q", c.line, got, c.want)
		}
	}
	tree := devcontainer.Memory{
		".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "dev", "features": {"` + featureName + `": {}},
			"mounts": ["type=bind,source=${localWorkspaceFolder}/.devcontainer,target=${containerWorkspaceFolder}/.devcontainer,readonly"]}`,
		".devcontainer/Dockerfile": "FROM debian:13\nRUN useradd -m dev\nUSER dev\n",
	}
	if got := marked(t, tree, false); got != "SBX821 USER dev" {
		t.Error(got)
	}
	tree[".devcontainer/Dockerfile"] = "FROM debian:13\nRUN useradd -m dev\n"
	if got := marked(t, tree, false); got != "" {
		t.Error(got)
	}
}
