package lint_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
)

func composeProject(service string) devcontainer.Memory {
	return devcontainer.Memory{
		".devcontainer/devcontainer.json": `{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": ` +
			`"/", "overrideCommand": true}`,
		".devcontainer/compose.yaml": "services:\n  app:\n    image: debian:13\n" + service,
	}
}

// A right that opens the host is found in Compose files as well, at its own place.
func TestComposeRules(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"socket", "    volumes: ['/var/run/docker.sock:/var/run/docker.sock']\n", "SBX401 '/var/run/docker.sock:/var/run/docker.sock'"},
		{"socket, long form", "    volumes:\n      - type: bind\n        source: /run/docker.sock\n        target: /s\n",
			"SBX401 /run/docker.sock"},
		{"socket by default value", "    volumes: ['${SOCK:-/var/run/docker.sock}:/s']\n", "SBX401 '${SOCK:-/var/run/docker.sock}:/s'"},
		{"podman", "    volumes: ['/run/user/1000/podman/podman.sock:/s']\n", "SBX401 '/run/user/1000/podman/podman.sock:/s'"},
		{"socket by use_api_socket", "    use_api_socket: true\n", "SBX401 true"},
		{"socket by a volume's device", "    volumes: ['v:/s']\nvolumes:\n  v:\n    driver_opts: {type: none, o: bind, device: /var/run}\n",
			"SBX401 'v:/s'"},
		{"socket by DOCKER_HOST", "    environment: [DOCKER_HOST=tcp://h:2375]\n", "SBX401 DOCKER_HOST=tcp://h:2375"},
		{"a service beside it", "  other:\n    image: docker:28\n    volumes: ['/var/run/docker.sock:/s']\n", "SBX401 '/var/run/docker.sock:/s'"},
		{"privileged", "    privileged: true\n", "SBX402 true"},
		{"privileged by extends", "    extends: base\n  base:\n    image: debian:13\n    cap_add: [SYS_ADMIN]\n", "SBX403 SYS_ADMIN"},
		{"privileged by an anchor", "    <<: &x {privileged: yes}\n", "SBX402 yes"},
		{"not privileged", "    privileged: false\n    cap_drop: [ALL]\n", ""},
		{"capability", "    cap_add: [cap_sys_module, NET_BIND_SERVICE, SYS_PTRACE]\n", "SBX403 cap_sys_module"},
		{"host network", "    network_mode: host\n", "SBX404 host"},
		{"host processes", "    pid: \"host\"\n", "SBX404 \"host\""},
		{"another service's network", "    network_mode: service:db\n  db:\n    image: redis:8\n", ""},
		{"unconfined", "    security_opt: ['seccomp:unconfined']\n", "SBX405 'seccomp:unconfined'"},
		{"device", "    devices: ['/dev/kvm:/dev/kvm']\n", "SBX406 '/dev/kvm:/dev/kvm'"},
		{"device, long form", "    devices:\n      - source: /dev/sda\n        target: /dev/x\n", "SBX406 /dev/sda"},
		{"reserved devices", "    deploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}\n", "SBX406 {capabilities: [gpu]}"},
		{"all GPUs", "    gpus: all\n", "SBX406 all"},
		{"no device", "    devices: ['/dev/null:/dev/x']\n", ""},
		{"root of the host", "    volumes: ['/:/host']\n", "SBX407 '/:/host'"},
		{"keys of the home folder", "    volumes: ['~/.ssh:/home/dev/.ssh:ro', '${HOME}/.aws:/a']\n",
			"SBX407 '~/.ssh:/home/dev/.ssh:ro'; SBX407 '${HOME}/.aws:/a'"},
		{"the workspace and what lies around it",
			"    volumes: ['../..:/workspaces:cached', './data:/data', 'cache:/c']\nvolumes: {cache: }\n", ""},
		{"another container's mounts", "    volumes_from: ['container:x']\n", "SBX409 'container:x'"},
		{"gateway", "    extra_hosts: ['host.docker.internal:host-gateway']\n", "SBX409 'host.docker.internal:host-gateway'"},
		{"build on the host's network", "    build: {context: ., dockerfile_inline: FROM a, network: host}\n", "SBX410 host"},
		{"SSH agent in the build", "    build: {context: ., dockerfile_inline: FROM a, ssh: [default]}\n", "SBX410 default"},
		{"port for everybody", "    ports: ['3000:3000']\n", "SBX411 '3000:3000'"},
		{"port, long form", "    ports:\n      - {target: 80, published: '8080', host_ip: 0.0.0.0}\n",
			"SBX411 {target: 80, published: '8080', host_ip: 0.0.0.0}"},
		{"port for this machine", "    ports: ['127.0.0.1:3000:3000', '9000']\n", ""},
		{"key in the file", "    environment: {GITHUB_TOKEN: ghp_0123456789abcdefghijklmnopqrstuvwxyz}\n",
			"SBX501 ghp_0123456789abcdefghijklmnopqrstuvwxyz"},
		{"key of the host", "    environment: [GITHUB_TOKEN]\n", "SBX502 GITHUB_TOKEN"},
		{"key of the host by variable", "    environment: {GITHUB_TOKEN: '${GITHUB_TOKEN}'}\n", "SBX502 '${GITHUB_TOKEN}'"},
		{"key in the build", "    build: {context: ., dockerfile_inline: FROM a, args: {NPM_TOKEN: '${NPM_TOKEN}'}}\n", "SBX504 '${NPM_TOKEN}'"},
		{"password of a database", "  db:\n    image: postgres:17\n    environment: {POSTGRES_PASSWORD: '${POSTGRES_PASSWORD:-postgres}'}\n", ""},
		{"latest", "  db: {image: redis}\n", "SBX602 redis"},
		{"not YAML", "    ports: [\n", "SBX316 services:"},
	} {
		got := marked(t, composeProject(c.src), false)
		if c.name == "not YAML" {
			got = strings.SplitN(got, " ", 2)[0]
			c.want = "SBX316"
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestComposeFilesTogether(t *testing.T) {
	tree := devcontainer.Memory{
		".devcontainer/devcontainer.json": `{"dockerComposeFile": ["../compose.yaml", "extra.yaml"], "service": "app", "workspaceFolder": "/", ` +
			`"remoteUser": "dev", "overrideCommand": true}`,
		"compose.yaml": "services:\n  app:\n    build: {context: docker, args: {V: latest}}\n    privileged: true\n",
		".devcontainer/extra.yaml": "services:\n  app:\n    privileged: false\n    cap_add: [SYS_ADMIN]\n" +
			"    extends: {file: base.yaml, service: b}\n",
		"base.yaml":         "services:\n  b:\n    pid: host\n",
		"docker/Dockerfile": "ARG V=13\nFROM debian:$V\nRUN curl -k https://x.io\n",
	}
	want := "SBX403 SYS_ADMIN; SBX404 host; SBX726 debian:$V; SBX720 -k; SBX703"
	got := marked(t, tree, false)
	for _, w := range strings.Split(want, "; ") {
		if !strings.Contains(got, w) {
			t.Errorf("no %s in %s", w, got)
		}
	}
	if strings.Contains(got, "SBX402") {
		t.Errorf("the later file switches privileged off: %s", got)
	}
}

// The stage that a service builds must be one.
func TestComposeTargetMissing(t *testing.T) {
	tree := composeProject("")
	tree[".devcontainer/compose.yaml"] = "services:\n  app:\n    build: {context: ., target: agnet}\n"
	tree[".devcontainer/Dockerfile"] = "FROM debian:13 AS agent\nRUN useradd -m x\nUSER x\n"
	if got := marked(t, tree, false); got != "SBX712 agnet" {
		t.Error(got)
	}
	tree[".devcontainer/compose.yaml"] = "services:\n  app:\n    build: {context: ., target: agent}\n"
	if got := marked(t, tree, false); got != "" {
		t.Error(got)
	}
}

func TestComposeServiceMissing(t *testing.T) {
	tree := composeProject("")
	tree[".devcontainer/devcontainer.json"] = `{"dockerComposeFile": "compose.yaml", "service": "ap", "workspaceFolder": ` +
		`"/", "overrideCommand": true}`
	if got := marked(t, tree, false); got != `SBX313 "ap"` {
		t.Error(got)
	}
	// A file that cannot be read may define it: only the file is said to be missing.
	tree[".devcontainer/compose.yaml"] = "include: [../more.yaml]\n"
	if got := marked(t, tree, false); got != "SBX311 ../more.yaml" {
		t.Error(got)
	}
}

// All mounts that close a workspace of Compose are said at once, so that one edit of the
// file is enough: .git lies over itself too, writable, as nobody could commit
// otherwise.
func TestComposeHintsCloseTheWorkspace(t *testing.T) {
	for _, source := range []string{"..", "../", "./../"} {
		tree := composeProject("    volumes:\n      - " + source + ":/project:cached\n")
		tree[".devcontainer/devcontainer.json"] = `{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": "/", ` +
			`"remoteUser": "node", "features": {"ghcr.io/org/claude-sandbox/features/firewall:0": {}}}`
		for _, p := range []string{".git/HEAD", ".git/config", ".git/hooks/x", ".vscode/tasks.json", ".husky/pre-commit"} {
			tree[p] = "x"
		}
		open := func() (n int) {
			p, err := devcontainer.Load(tree, ".devcontainer/devcontainer.json", "f")
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range lint.Check(p) {
				if f.Rule != "SBX806" && f.Rule != "SBX807" && f.Rule != "SBX816" {
					continue
				}
				n++
				for _, volume := range regexp.MustCompile(`"[^"]*:/project/[^"]*"`).FindAllString(f.Hint, -1) {
					tree[".devcontainer/compose.yaml"] += "      - " + volume + "\n"
				}
			}
			return n
		}
		if n := open(); n != 3 {
			t.Errorf("%s: %d findings, want one of each rule", source, n)
		}
		if n := open(); n != 0 {
			t.Errorf("%s: %d findings after what the hints say:\n%s", source, n, tree[".devcontainer/compose.yaml"])
		}
		if text := tree[".devcontainer/compose.yaml"]; !strings.Contains(text, "/.git:/project/.git\"") ||
			!strings.Contains(text, ":/project/.husky:ro\"") {
			t.Errorf("%s", text)
		}
	}
}
