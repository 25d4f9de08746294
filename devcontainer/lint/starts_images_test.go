package lint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// standIn is an image of the engine under the names of published ones, where none can be pulled.
// It is built of Debian's packages; each says of the published image what its documentation says.
type standIn struct {
	name, dockerfile string
	tags             []string
}

const (
	fresh      = "rm -rf /var/lib/apt/lists/*"
	scmOfDeb   = "ca-certificates curl wget gnupg netbase tzdata git openssh-client procps "
	buildOfDeb = scmOfDeb + "dpkg-dev file gcc g++ make patch unzip xz-utils "
	// Debian's own, with the published image's places and without the mark of a managed system.
	pythonOfDeb = " python3-pip && rm -f /usr/lib/python3*/EXTERNALLY-MANAGED && " +
		"for p in python python3 pip pip3; do ln -s /usr/bin/${p%3}3 /usr/local/bin/$p; done && "
	metadata = "LABEL devcontainer.metadata='[{\"remoteUser\":\"%\"}]'\nRUN groupadd --gid 1000 % && " +
		"useradd --uid 1000 --gid 1000 -m -s /bin/bash % && echo '% ALL=(root) NOPASSWD:ALL' > /etc/sudoers.d/%\n"
)

func aptOf(packages string) string {
	return "RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends " + packages
}

// Of 2026-11-29. Sources: the Dockerfiles of docker-library, nodejs/docker-node and devcontainers/images.
var startImages = []standIn{
	{"debian-12", "FROM debian:bookworm-slim\nRUN rm -rf /var/lib/apt/lists/*\n",
		[]string{"debian:12", "debian:bookworm", "debian:12-slim"}},
	{"debian-13", "FROM debian:bookworm-slim\nRUN sed -i s/bookworm/trixie/ /etc/apt/sources.list && apt-get update && " +
		"DEBIAN_FRONTEND=noninteractive apt-get full-upgrade -y && apt-get autoremove -y && " + fresh + "\n",
		[]string{"debian:13", "debian:trixie", "debian:13-slim"}},
	// Images that nobody knows have what a project may want, so that a hook fails by the mistake alone.
	{"everything", "FROM sbx-starts:debian-13\n" + aptOf(buildOfDeb+"sudo zsh jq golang-go ruby bundler composer php-cli python3-poetry "+
		"python3-pip npm python-is-python3") +
		" && rm -f /usr/lib/python3*/EXTERNALLY-MANAGED && npm install -g pnpm@9 && " + fresh + "\nRUN useradd -m node\n",
		[]string{"a:1", "a:2"}},
	{"server", "FROM sbx-starts:debian-12\nCMD [\"sleep\", \"infinity\"]\n", []string{"x/y:1", "postgres:17", "postgres:16", "redis:7",
		"myorg/api:dev", "nginx:1.29"}},
	{"node-slim", "FROM node:22-bookworm-slim\n" +
		"RUN npm install -g corepack && rm /usr/local/bin/yarn* /usr/local/bin/pnp* && npm install -g yarn@1\n",
		[]string{"node:24-slim"}},
	{"node", "FROM node:22-bookworm-slim\n" + aptOf(buildOfDeb+"python3") + " && " + fresh + "\n",
		[]string{"node:25"}},
	{"node-24", "FROM sbx-starts:node\nRUN npm install -g corepack && rm /usr/local/bin/yarn* /usr/local/bin/pnp* && npm install -g yarn@1\n",
		[]string{"node:24", "node:22", "node:20", "node:22-bookworm", "node:20-bookworm"}},
	{"python-slim", "FROM sbx-starts:debian-13\n" + aptOf("ca-certificates python3 python3-venv") + pythonOfDeb + fresh + "\n",
		[]string{"python:3.13-slim", "python:3.12-slim"}},
	{"python", "FROM sbx-starts:debian-13\n" + aptOf(buildOfDeb+"python3 python3-venv") + pythonOfDeb + fresh + "\n",
		[]string{"python:3.13", "python:3.12", "python:3.13-bookworm", "python:3.12-bookworm"}},
	{"ruby-slim", "FROM sbx-starts:debian-13\n" + aptOf("ca-certificates ruby") + " && " + fresh + "\n", []string{"ruby:3.4-slim"}},
	{"golang", "FROM sbx-starts:debian-12\n" + aptOf(scmOfDeb+"gcc g++ make") + " && " + fresh + "\n" +
		"COPY go /usr/local/go\nENV PATH=/go/bin:/usr/local/go/bin:$PATH GOPATH=/go\nWORKDIR /go\n", []string{"golang:1.24", "golang:1.23"}},
	{"ubuntu", "FROM sbx-starts:debian-13\nRUN useradd -m -u 1000 ubuntu\n", []string{"ubuntu:24.04"}},
	{"alpine", "FROM sbx-starts:debian-13 AS b\n" + aptOf("busybox-static") + "\nRUN mkdir -p /r/bin /r/etc /r/tmp /r/root /r/usr/bin && " +
		"cp /bin/busybox /r/bin/ && for a in $(busybox --list | grep -v busybox); do ln -sf busybox /r/bin/$a; done && " +
		"rm -f /r/bin/dpkg* /r/bin/rpm* && " +
		"echo root:x:0:0:root:/root:/bin/sh > /r/etc/passwd && echo root:x:0: > /r/etc/group && " +
		"printf 'ID=alpine\\nVERSION_ID=3.22.0\\n' > /r/etc/os-release\nFROM scratch\nCOPY --from=b /r /\nCMD [\"/bin/sh\"]\n",
		[]string{"alpine:3.22", "alpine:3.20", "alpine:latest"}},
	{"base", "FROM sbx-starts:debian-12\n" + aptOf(scmOfDeb+"sudo zsh unzip zip jq less") + " && " + fresh + "\n" +
		strings.ReplaceAll(metadata, "%", "vscode"),
		[]string{"mcr.microsoft.com/devcontainers/base:bookworm", "mcr.microsoft.com/devcontainers/base:debian-12"}},
	{"base-13", "FROM sbx-starts:debian-13\n" + aptOf(scmOfDeb+"sudo zsh unzip zip jq less") + " && " + fresh + "\n" +
		strings.ReplaceAll(metadata, "%", "vscode"), []string{"mcr.microsoft.com/devcontainers/base:debian-13"}},
	{"dev-python", "FROM sbx-starts:python\n" + aptOf("sudo zsh jq less") + " && " + fresh + "\n" +
		strings.ReplaceAll(metadata, "%", "vscode"),
		[]string{"mcr.microsoft.com/devcontainers/python:3.12", "mcr.microsoft.com/devcontainers/python:3.13"}},
	{"dev-node", "FROM sbx-starts:node-24\n" + aptOf("sudo zsh jq less") + " && " + fresh + "\n" +
		"LABEL devcontainer.metadata='[{\"remoteUser\":\"node\"}]'\nRUN echo 'node ALL=(root) NOPASSWD:ALL' > /etc/sudoers.d/node\n",
		[]string{"mcr.microsoft.com/devcontainers/javascript-node:22", "mcr.microsoft.com/devcontainers/typescript-node:22"}},
}

// standIns gives the engine what is missing, and takes the names away again with the test.
func standIns(t *testing.T, docker string) {
	t.Helper()
	// Folders of the host that mistakes and their twins mount.
	for _, dir := range []string{"/srv/a", "/opt/a"} {
		if os.Mkdir(dir, 0o755) == nil {
			t.Cleanup(func() { _ = os.Remove(dir) })
		}
	}
	for _, image := range startImages {
		dir := t.TempDir()
		if strings.Contains(image.dockerfile, "COPY go ") {
			root, err := exec.Command("go", "env", "GOROOT").Output()
			if err == nil {
				err = exec.Command("cp", "-r", strings.TrimSpace(string(root)), filepath.Join(dir, "go")).Run()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		text := image.dockerfile + "LABEL claude-sandbox.stand-in=true claude-sandbox.starts=true\n"
		if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		build := exec.Command(docker, "build", "-t", "sbx-starts:"+image.name, dir)
		build.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
		if out, err := build.CombinedOutput(); err != nil {
			testenv.Missing(t, "the image "+image.name, string(out[max(0, len(out)-800):]))
		}
		for _, tag := range image.tags {
			label, err := exec.Command(docker, "image", "inspect", "--format", `{{index .Config.Labels "claude-sandbox.starts"}}`, tag).Output()
			if err == nil && strings.TrimSpace(string(label)) == "" {
				continue // the real one, or another test's
			}
			if out, err := exec.Command(docker, "tag", "sbx-starts:"+image.name, tag).CombinedOutput(); err != nil {
				t.Fatalf("%s: %s", tag, out)
			}
			t.Cleanup(func() { _ = exec.Command(docker, "rmi", tag).Run() })
		}
	}
}
