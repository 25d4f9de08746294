package lint_test

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
)

// Sockets of the host in the spellings that people use, each one finding.
func TestSocketsOfTheHost(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"/tmp/.X11-unix", "SBX417"},
		{"/tmp/.X11-unix/X0", "SBX417"},
		{"${localEnv:HOME}/.Xauthority", "SBX417"},
		{"${localEnv:XAUTHORITY}", "SBX417"},
		{"/mnt/wslg", "SBX417"},
		{"/run/user/1000/wayland-0", "SBX417"},
		{"${localEnv:XDG_RUNTIME_DIR}/${localEnv:WAYLAND_DISPLAY}", "SBX417"},
		{"${localEnv:XDG_RUNTIME_DIR}/pulse", "SBX417"},
		{"${localEnv:XDG_RUNTIME_DIR:/run/user/1000}/pipewire-0", "SBX417"},
		{"/run/user/1000/pulse/native", "SBX417"},
		{"${localEnv:SSH_AUTH_SOCK}", "SBX417"},
		{"/run/host-services/ssh-auth.sock", "SBX417"},
		{"/tmp/ssh-XXXXabc/agent.1234", "SBX417"},
		{"${localEnv:HOME}/.1password/agent.sock", "SBX417"},
		{"/run/user/1000/gnupg/S.gpg-agent", "SBX417"},
		{"${localEnv:HOME}/.gnupg/S.gpg-agent.extra", "SBX417"},
		{"/run/dbus/system_bus_socket", "SBX417"},
		{"/var/run/dbus", "SBX417"},
		{"/run/user/1000/bus", "SBX417"},
		{"/run/systemd/private", "SBX417"},
		{"/var/run/libvirt/libvirt-sock", "SBX417"},
		{"/run/user/1000", "SBX401"},
		{"${localEnv:XDG_RUNTIME_DIR}", "SBX401"},
		{"/run/user/1000/podman/podman.sock", "SBX401"},
		{"/run/user/1000/docker.sock", "SBX401"},
		{"${localEnv:XDG_RUNTIME_DIR}/docker.sock", "SBX401"},
		{"${localEnv:HOME}/.docker/run/docker.sock", "SBX401"},
		{"${localEnv:HOME}/.colima/default/docker.sock", "SBX401"},
		{"/var/run/docker.sock.raw", "SBX401"},
		{"/run/containerd/containerd.sock", "SBX401"},
		{"/run/k3s/containerd/containerd.sock", "SBX401"},
		{"/run/crio/crio.sock", "SBX401"},
		{"/run/buildkit/buildkitd.sock", "SBX401"},
		{"/var/lib/incus/unix.socket", "SBX401"},
		{"/var/snap/lxd/common/lxd/unix.socket", "SBX401"},
		{"//var/run/../run/docker.sock", "SBX401"},
		{"/run/user/1000/myapp", ""},
		{"/srv/data", ""},
		{"${localWorkspaceFolder}/pulse-data", ""},
		{"${localWorkspaceFolder}/ssh-agent", ""},
		{"/srv/pulse", ""},
		{"/srv/ssh-agent-docs", ""},
		{"/run/user/1000/ssh-agent.socket", "SBX417"},
		{"${localEnv:HOME}/src/wayland", ""},
	} {
		for form, src := range map[string]string{
			"string":  image(`"mounts": ["type=bind,source=` + c.source + `,target=/x"]`),
			"object":  image(`"mounts": [{"type": "bind", "source": "` + c.source + `", "target": "/x"}]`),
			"-v":      image(`"runArgs": ["-v", "` + c.source + `:/x:ro"]`),
			"--mount": image(`"runArgs": ["--mount=type=bind,src=` + c.source + `,dst=/x"]`),
		} {
			// That a variable may be empty is a matter of its own.
			if got := strings.TrimPrefix(reported(alone(src)), "SBX335 "); got != c.want {
				t.Errorf("%s as %s: got %q, want %q", c.source, form, got, c.want)
			}
		}
		plain := strings.NewReplacer("${localEnv:", "${", ":/run/user/1000}", ":-/run/user/1000}",
			"${localWorkspaceFolder}", "..").Replace(c.source)
		tree := devcontainer.Memory{
			".devcontainer/devcontainer.json": `{"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": "/", "overrideCommand": true}`,
			".devcontainer/c.yaml": "services:\n  a:\n    image: debian:13\n    volumes: [{type: bind, source: '" +
				plain + "', target: /x}]\n",
		}
		if got := ids(t, tree); got != c.want {
			t.Errorf("%s in Compose: got %q, want %q", plain, got, c.want)
		}
	}
	// A volume of that name is nobody's socket.
	if got := reported(alone(image(`"mounts": ["type=volume,source=pulse,target=/tmp/.X11-unix"]`))); got != "" {
		t.Error(got)
	}
}

// ids are the rules of findings at warning or worse.
func ids(t *testing.T, tree devcontainer.Memory) string {
	t.Helper()
	var out []string
	for _, word := range strings.Split(marked(t, tree, false), "; ") {
		id, _, _ := strings.Cut(word, " ")
		out = append(out, id)
	}
	return strings.Join(out, " ")
}

// Namespaces that a container shares with others, in every spelling.
func TestNamespacesOfOthers(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`"--pid=container:db"`, "SBX409"},
		{`"--pid", "container:db"`, "SBX409"},
		{`"--network=container:db"`, "SBX409"},
		{`"--net=container:db"`, "SBX409"},
		{`"--ipc=container:db"`, "SBX409"},
		{`"--ipc=shareable"`, ""},
		{`"--ipc=private"`, ""},
		{`"--network=db"`, "SBX321"},
		{`"--network=name=db,alias=x"`, ""},
		{`"--network=name=host"`, "SBX404"},
		{`"--network=name=container:db"`, "SBX409"},
		{`"--ipc=host"`, "SBX404"},
		{`"--userns=host"`, "SBX404"},
		{`"--cgroupns=host"`, "SBX404"},
		{`"--cgroupns=private"`, ""},
		{`"--uts=host"`, "SBX404"},
		{`"--use-api-socket"`, "SBX401"},
		{`"--use-api-socket=false"`, ""},
	} {
		if got := reported(alone(image(`"runArgs": [` + c.args + `]`))); got != c.want {
			t.Errorf("%s: got %q, want %q", c.args, got, c.want)
		}
	}
	for _, c := range []struct{ line, below, want string }{
		{"network_mode: service:db", "", ""},
		{"network_mode: container:db", "", "SBX409"},
		{"network_mode: host", "", "SBX404"},
		{"pid: service:db", "", "SBX409"},
		{"pid: container:db", "", "SBX409"},
		{"pid: host", "", "SBX404"},
		{"ipc: service:db", "", "SBX409"},
		{"ipc: container:db", "", "SBX409"},
		{"ipc: shareable", "", ""},
		{"uts: host", "", "SBX404"},
		{"userns_mode: host", "", ""},
		{"cgroup: host", "", "SBX404"},
		{"volumes_from: [container:db]", "", "SBX409"},
		{"volumes_from: [db]", "", ""},
		{"device_cgroup_rules: ['a *:* rwm']", "", "SBX406"},
		{"networks: [outside]", "networks: {outside: {external: true, name: host}}", "SBX404"},
		{"networks: {outside: {aliases: [x]}}", "networks: {outside: {external: true, name: host}}", "SBX404"},
		{"networks: [outside]", "networks: {outside: {external: true, name: shared}}", "SBX333"},
		{"networks: [inside]", "networks: {inside: {name: host}}", ""},
		{"post_start: [{command: id, privileged: true}]", "", "SBX402"},
		{"post_start: [{command: id}]", "", ""},
		{"provider: {type: awesomecloud}", "", "SBX418"},
	} {
		tree := devcontainer.Memory{
			".devcontainer/devcontainer.json": `{"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": "/", "overrideCommand": true}`,
			".devcontainer/c.yaml": "services:\n  a:\n    image: debian:13\n    " + c.line +
				"\n  db:\n    image: debian:13\n" + c.below + "\n",
		}
		if got := ids(t, tree); got != c.want {
			t.Errorf("%s: got %q, want %q", c.line, got, c.want)
		}
	}
}

// Files and variables of the host that Compose hands in by another name.
func TestSecretsOfCompose(t *testing.T) {
	for _, c := range []struct {
		service, below string
		agent, plain   string // with and without an agent in the container
	}{
		{"secrets: [k]", "secrets: {k: {file: ~/.ssh/id_ed25519}}", "SBX407", "SBX407"},
		{"secrets: [{source: k, target: x}]", "secrets: {k: {file: '${HOME}/.aws/credentials'}}", "SBX407", "SBX407"},
		{"configs: [k]", "configs: {k: {file: /var/run/docker.sock}}", "SBX401", "SBX401"},
		{"configs: [k]", "configs: {k: {file: /etc/shadow}}", "SBX407", "SBX407"},
		{"configs: [k]", "configs: {k: {file: '${SSH_AUTH_SOCK}'}}", "SBX417", "SBX417"},
		{"secrets: [k]", "secrets: {k: {file: /srv/keys/deploy}}", "SBX507", ""},
		{"secrets: [k]", "secrets: {k: {file: ../../other/key}}", "SBX507", ""},
		{"secrets: [k]", "secrets: {k: {file: '${KEYS}/key'}}", "SBX507", ""},
		{"secrets: [k]", "secrets: {k: {environment: NPM_TOKEN}}", "SBX507", ""},
		{"secrets: [k]", "secrets: {k: {file: ../test.key}}", "", ""},
		{"secrets: [k]", "secrets: {k: {external: true}}", "", ""},
		{"configs: [k]", "configs: {k: {content: hello}}", "", ""},
		{"environment: {A: b}", "secrets: {k: {file: /srv/keys/deploy}}", "", ""},
	} {
		for agent, want := range map[string]string{c.agent: c.agent, "": c.plain} {
			hook := ""
			if agent != "" {
				hook = `, "securityOpt": ["no-new-privileges"], "postCreateCommand": "claude-code --version"`
			}
			tree := devcontainer.Memory{
				".devcontainer/devcontainer.json": `{"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": "/", "overrideCommand": true` +
					hook + `}`,
				".devcontainer/c.yaml": "services:\n  a:\n    image: debian:13\n    " + c.service + "\n" + c.below + "\n",
				"test.key":             "no secret\n",
			}
			if got := ids(t, tree); got != want {
				t.Errorf("%s %s, agent %v: got %q, want %q", c.service, c.below, agent != "", got, want)
			}
		}
	}
}

// Compose 2 refuses a name that is given twice, older versions take the last
// one: whoever reads the first is misled.
func TestNamesTwiceInCompose(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"services:\n  a:\n    image: debian:13\n  a:\n    image: debian:12\n", `SBX102 a`},
		{"services:\n  a:\n    image: debian:13\n    cap_add: []\n    cap_add: [NET_RAW]\n", `SBX102 cap_add`},
		{"services:\n  a:\n    image: debian:13\n    environment: {A: b, \"A\": c}\n", `SBX102 "A"`},
		{"services: &s\n  a: &a\n    image: debian:13\n  b:\n    <<: *a\n    image: debian:13\n", ""},
		{"services:\n  a:\n    image: debian:13\nservices:\n  b: {image: debian:13}\n", `SBX102 services; SBX313 "a"`},
	} {
		tree := devcontainer.Memory{
			".devcontainer/devcontainer.json": `{"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": "/", "overrideCommand": true}`,
			".devcontainer/c.yaml":            c.text,
		}
		if got := marked(t, tree, false); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// A mount of another service is mounted here, too, with volumes_from.
func TestVolumesFromAnotherService(t *testing.T) {
	const file = ".devcontainer/compose.yaml"
	for _, c := range []struct{ name, from, want string }{
		{"writable", "helper", "SBX806 helper"},
		{"read-only", "helper:ro", ""},
		{"over another", "between", "SBX806 between"},
		{"in a circle", "circle", `SBX317 agent`},
		{"nothing", "nobody", `SBX317 agent; SBX316 nobody`},
	} {
		tree := sidecar()
		tree[file] = strings.Replace(tree[file], "    volumes:\n      - \"..:/project\"\n      - \"./:/project/.devcontainer:ro\"\n",
			"    volumes_from: ["+c.from+"]\n", 1) + `  helper:
    image: ghcr.io/org/claude-sandbox:1.0.0
    volumes: ["..:/project"]
  between:
    image: ghcr.io/org/claude-sandbox:1.0.0
    volumes_from: [helper]
  circle:
    image: ghcr.io/org/claude-sandbox:1.0.0
    volumes_from: [circle]
`
		if got := marked(t, tree, false); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestComposeFromElsewhere(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct{ text, want string }{
		{"include: ['oci://docker.io/x/y:1']\nservices: {a: {image: 'debian:13'}}\n", "SBX612"},
		{"include: ['oci://docker.io/x/y@" + anyDigest + "']\nservices: {a: {image: 'debian:13'}}\n", ""},
		{"include: [{path: ['more.yaml', 'git@github.com:x/y.git']}]\nservices: {a: {image: 'debian:13'}}\n", "SBX612"},
		{"include: ['https://github.com/x/y.git#" + commit + ":sub']\nservices: {a: {image: 'debian:13'}}\n", ""},
		{"include: ['https://github.com/x/y.git#main']\nservices: {a: {image: 'debian:13'}}\n", "SBX612"},
		{"services: {a: {build: 'https://github.com/x/y.git'}}\n", "SBX612"},
		{"services: {a: {build: {context: 'github.com/x/y'}}}\n", "SBX612"},
		{"services: {a: {build: {context: 'https://github.com/x/y.git#" + commit + "'}}}\n", ""},
		{"services: {a: {image: 'debian:13', build: {context: ., additional_contexts: ['src=https://github.com/x/y.git']}}}\n", "SBX612"},
		{"services: {a: {build: ./github.com}}\n", ""},
	} {
		tree := devcontainer.Memory{
			".devcontainer/devcontainer.json": `{"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": ` +
				`"/", "overrideCommand": true}`,
			".devcontainer/c.yaml":                c.text,
			".devcontainer/more.yaml":             "services: {}\n",
			".devcontainer/Dockerfile":            "FROM debian:13\nRUN useradd -m dev\nUSER dev\n",
			".devcontainer/github.com/Dockerfile": "FROM debian:13\nRUN useradd -m dev\nUSER dev\n",
		}
		if got := ids(t, tree); got != c.want {
			t.Errorf("%s: got %q, want %q", c.text, got, c.want)
		}
	}
}

// Programs of others that read the Dockerfile, and images that files are taken
// from.
func TestWhatABuildRunsAndTakes(t *testing.T) {
	const rest = "FROM debian:13\nRUN useradd -m dev\nUSER dev\n"
	for _, c := range []struct{ file, more, want string }{
		{"# syntax=docker/dockerfile:1\n" + rest, "}", ""},
		{"# syntax=docker.io/docker/dockerfile:1.7-labs\n" + rest, "}", ""},
		{"#syntax=docker/dockerfile-upstream:master\n" + rest, "}", ""},
		{"# syntax = ghcr.io/evil/frontend:1 --x\n" + rest, "}", "SBX728 ghcr.io/evil/frontend:1"},
		{"# escape=\\\n# SYNTAX=evil/dockerfile\n" + rest, "}", "SBX728 evil/dockerfile"},
		{"# syntax=docker.io.evil.example/docker/dockerfile:1\n" + rest, "}", "SBX728 docker.io.evil.example/docker/dockerfile:1"},
		{"# syntax=evil/frontend@" + anyDigest + "\n" + rest, "}", ""},
		{"# a comment first\n# syntax=evil/frontend\n" + rest, "}", ""}, // no directive any more
		{"#!/usr/bin/env docker build\n# syntax=evil/frontend\n" + rest, "}", "SBX728 evil/frontend"},
		{rest, `, "args": {"BUILDKIT_SYNTAX": "evil/frontend"}}`, `SBX728 "evil/frontend"`},
		{rest, `, "options": ["--build-arg=BUILDKIT_SYNTAX=evil/frontend"]}`, `SBX728 "--build-arg=BUILDKIT_SYNTAX=evil/frontend"`},
		{rest, `, "options": ["--build-arg", "BUILDKIT_SYNTAX=evil/frontend"]}`, `SBX728 "--build-arg"`},
		{rest + "COPY --from=ghcr.io/a/b:latest /x /x\n", "}", "SBX726 ghcr.io/a/b:latest"},
		{rest + "COPY --from=ghcr.io/a/b:1 /x /x\n", "}", ""},
		{"ARG V=latest\n" + rest + "RUN --mount=type=bind,from=ghcr.io/a/b,target=/x id\n", "}", "SBX726 ghcr.io/a/b"},
	} {
		if got := marked(t, built(c.file, c.more), false); got != c.want {
			t.Errorf("%s %s\n got %s\nwant %s", c.file, c.more, got, c.want)
		}
	}
}

// TestAttackTheFolderAroundAComposeProject: with the volume of many templates the agent reads
// and writes what lies next to the project, such as the user's home folder.
func TestAttackTheFolderAroundAComposeProject(t *testing.T) {
	const sandbox = `"remoteUser": "dev", "features": {"ghcr.io/org/claude-sandbox/features/firewall@sha256:0": {}}, `
	for _, c := range []struct {
		volumes, over string
		want          bool
	}{
		{`["../..:/workspaces:cached"]`, "", true},
		{`["../../..:/w"]`, "", true},
		{`["../..:/workspaces:ro"]`, "", true},
		{`[{type: bind, source: ../.., target: /w}]`, "", true},
		{`["./../../:/w"]`, "", true},
		{`["..:/w/p"]`, "", false},
		{`["../sub:/w/p/sub"]`, "", false},
		{`["../../lib:/lib"]`, "", false},
		{`["../..:/workspaces:cached"]`, "services:\n  a:\n    volumes: [\"/workspaces\", \"..:/workspaces/p\"]\n", false},
		{`["../..:/workspaces:cached"]`, "services:\n  a:\n    volumes: [\"/workspaces/p\", \"..:/workspaces/p\"]\n", true},
	} {
		for _, made := range []string{sandbox, ""} {
			tree := devcontainer.Memory{
				".devcontainer/devcontainer.json": `{` + made + `"dockerComposeFile": ["c.yaml"` + map[bool]string{true: `, "o.yaml"`}[c.over != ""] +
					`], "service": "a", "workspaceFolder": "/workspaces/p"}`,
				".devcontainer/c.yaml": "services:\n  a:\n    image: debian:13\n    volumes: " + c.volumes + "\n",
				".devcontainer/o.yaml": c.over,
			}
			if got := strings.Contains(ids(t, tree), "SBX407"); got != (c.want && made != "") {
				t.Errorf("%s %q, a sandbox %v: SBX407 %v", c.volumes, c.over, made != "", got)
			}
		}
	}
}
