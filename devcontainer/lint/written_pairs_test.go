package lint_test

import (
	"strings"
	"testing"
)

// pair is a mistake, and what is written in nearly the same way and is none. want is the severity and the rule of the
// finding, and what the first line of its place begins with. Without a mistake, want is the rule alone.
type pair struct{ name, want, wrong, right string }

const (
	ownCommand = `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "root", "overrideCommand": false}` +
		"\n-- .devcontainer/Dockerfile --\nFROM debian:12\n"
	asDev = `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "dev1"}` + "\n-- .devcontainer/Dockerfile --\nFROM debian:12\n"
)

// forwarding is a configuration by Compose with a forwarded port, and the beginning of its Compose file.
func forwarding(port string) string {
	return `{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": "/w", "forwardPorts": ["` + port + `"]}` +
		"\n-- .devcontainer/compose.yaml --\n"
}

// mounting is a configuration by Compose with a mount of its own.
func mounting(mount string) string {
	return `{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": "/w", "mounts": ["` + mount + `"]}` +
		"\n-- .devcontainer/compose.yaml --\n" + service
}

const (
	userDev1 = "root:x:0:0::/root:/bin/sh\ndev1:x:1000:1000::/:/bin/sh\n"
	rootfs   = "-- .devcontainer/rootfs/etc/passwd --\n" + userDev1
)

const pyproject = "\n-- pyproject.toml --\n[project]\n"

// depending is a Feature of the project that depends on another.
func depending(name, on string) string {
	return "\n-- .devcontainer/" + name + "/devcontainer-feature.json --\n" +
		`{"id": "` + name + `", "version": "1.0.0", "dependsOn": {` + "\n" + `"` + on + `": {}}}`
}

// installed is a configuration with a Feature of the project, whose install.sh begins with a line.
func installed(image, first, more string) string {
	return imaged(image, `, "features": {`+"\n"+`"./tool": {}`+more+`}`) + "\n-- .devcontainer/tool/devcontainer-feature.json --\n" +
		`{"id": "tool", "version": "1.0.0"}` + "\n-- .devcontainer/tool/install.sh --\n" + first + "\necho hi\n"
}

var writtenPairs = []pair{
	// Hooks of which nothing stays.
	{"variables that end with a hook", `warning SBX734 "export`, imaged("debian:13", `, "postCreateCommand": "export A=1 && export B=2"`),
		imaged("debian:13", `, "postCreateCommand": "export A=1 && make"`) + makefile},
	{"variable that is written down", `SBX734`, "", imaged("debian:13", `, "postCreateCommand": "export A=1 > ~/.profile"`)},
	{"environment that ends with a hook", `warning SBX734 "`, imaged("python:3.13", `, "postCreateCommand": ". .venv/bin/activate"`),
		imaged("python:3.13", `, "postCreateCommand": ". .venv/bin/activate && pip install x"`)},
	{"alias that ends with a hook", `warning SBX734 "`, imaged("debian:13", `, "postCreateCommand": "alias ll='ls -l'"`),
		imaged("debian:13", `, "postCreateCommand": "echo \"alias ll='ls -l'\" >> ~/.bashrc"`)},
	{"pattern in an array", `warning SBX314 "/tmp`, imaged("debian:13", `, "postCreateCommand": ["rm", "-rf",
		"/tmp/*.log"]`), imaged("debian:13", `, "postCreateCommand": ["find", ".", "-name", "*.log", "-delete"]`)},
	{"user of another image for dev containers", `error SBX703 "vscode"`,
		imaged("mcr.microsoft.com/devcontainers/typescript-node:22", `, "remoteUser": "vscode"`),
		imaged("mcr.microsoft.com/devcontainers/typescript-node:22", `, "remoteUser": "node"`)},
	{"user of a Feature on an image for dev containers", `SBX703`, "",
		imaged("mcr.microsoft.com/devcontainers/base:bookworm", `, "remoteUser": "dev",
		"features": {"ghcr.io/devcontainers/features/common-utils:2": {"username": "dev"}}`)},
	// Programs that are not there.
	{"docker in a hook", `error SBX749 "docker`,
		imaged("python:3.13-slim", `, "postCreateCommand": "docker compose up -d"`) + "\n-- compose.yaml --\n",
		imaged("python:3.13-slim", `, "postCreateCommand": "docker ps || true"`)},
	{"docker in an image for dev containers", `error SBX749 "docker`,
		imaged("mcr.microsoft.com/devcontainers/python:3.13", `, "postStartCommand": "docker ps"`),
		imaged("mcr.microsoft.com/devcontainers/universal:2", `, "postStartCommand": "docker ps"`)},
	{"docker of a Feature", `SBX749`, "", imaged("debian:13", `, "features": {"ghcr.io/a/b/c:1": {}}, "postStartCommand": "docker ps"`)},
	{"docker of the host", `SBX749`, "", imaged("debian:13", `, "postStartCommand": "docker ps",
		"mounts": ["type=bind,source=/usr/bin/docker,target=/usr/bin/docker"]`)},
	{"docker by its script", `SBX749`, "",
		imaged("python:3.13", `, "postCreateCommand": "curl -fsSL https://get.docker.com | sh", "postStartCommand": "docker ps"`)},
	{"docker on the host", `SBX749`, "", imaged("debian:13", `, "initializeCommand": "docker network create x"`)},
	{"bash of a Feature on Alpine", `error SBX749 "./tool"`, installed("alpine:3.22", "#!/usr/bin/env bash", ""),
		installed("alpine:3.22", "#!/bin/sh", "")},
	{"bash of a Feature on Debian", `SBX749`, "", installed("debian:13", "#!/bin/bash", "")},
	{"bash by another Feature", `SBX749`, "",
		installed("alpine:3.22", "#!/bin/bash", `, "ghcr.io/devcontainers/features/common-utils:2": {}`)},
	{"poetry in an image of Python", `error SBX749 "poetry`, imaged("python:3.13", `, "postCreateCommand": "poetry install"`) + pyproject,
		imaged("python:3.13", `, "postCreateCommand": "pip install poetry && poetry install"`) + pyproject},
	{"uv in an image of Python", `error SBX749 "uv`, imaged("python:3.13-slim", `, "postCreateCommand": "uv sync"`) + pyproject,
		imaged("python:3.13-slim", `, "postCreateCommand": "pip install -r requirements.txt && uv sync"`) + pyproject +
			"-- requirements.txt --\nuv\n"},
	{"uv of its own image", `SBX749`, "", "FROM python:3.13\nCOPY --from=ghcr.io/astral-sh/uv:0.5 /uv /uvx /bin/\nRUN uv --version\n"},
	{"uv by its version", `SBX749`, "", "FROM python:3.13\nRUN pip install 'uv==0.5.1' && uv --version\n"},
	{"uv with an extra", `SBX749`, "", "FROM python:3.13\nRUN pip install uv[x] && uv --version\n"},
	{"switch of a Feature in words", `warning SBX325 "yes"`,
		imaged("debian:13", `, "features": {"ghcr.io/devcontainers/features/common-utils:2": {"installZsh":
		"yes"}}`),
		imaged("debian:13", `, "features": {"ghcr.io/devcontainers/features/common-utils:2": {"installZsh": "false", "username": "yes"}},
		"remoteUser": "yes"`)},
	// Files that are not there.
	{"example to copy", `error SBX318 "cp`, imaged("debian:13", `, "postCreateCommand": "cp .env.example .env"`) + readme,
		imaged("debian:13", `, "postCreateCommand": "cp .env.example .env"`) + "\n-- .env.example --\n"},
	{"example for the host", `error SBX318 "cp`, imaged("debian:13", `, "initializeCommand": "cp -n .env.sample .env"`) + readme,
		imaged("debian:13", `, "initializeCommand": "test -f .env || cp .env.sample .env"`) +
			"\n-- .env.sample --\n"},
	{"file that git leaves out", `SBX318`, "", imaged("debian:13", `, "initializeCommand": "cp .env .devcontainer/.env"`) + readme},
	{"example that a command makes", `SBX318`, "", imaged("debian:13", `, "postCreateCommand": "make && cp .env.example .env"`) + makefile},
	{"Feature of a Feature of a Feature", `error SBX311 "./c"`,
		imaged("debian:13", `, "features": {"./a": {}}`) + depending("a", "./b") + depending("b", "./c"),
		imaged("debian:13", `, "features": {"./a": {}}`) + depending("a", "./b") + depending("b", "ghcr.io/a/b/c:1")},
	// Ports and extensions.
	{"port of another container without one", `warning SBX323 "db:5432"`, imaged("debian:13", `, "forwardPorts": [
		"db:5432"]`), imaged("debian:13", `, "forwardPorts": ["localhost:5432", 3000]`)},
	{"port of a container in the network", `SBX323`, "", imaged("debian:13", `, "forwardPorts": ["db:5432"], "runArgs": ["--network=x"]`)},
	{"extensions as an object", `warning SBX324 {`, imaged("debian:13", `, "customizations": {"vscode": {"extensions":
		{"a.b": true}}}`), imaged("debian:13", `, "customizations": {"vscode": {"extensions": ["a.b"]}}`)},
	// What a shell repeats, leaves to itself or runs perhaps is not known to end.
	{"loop over a printer", `error SBX326 false`, ownCommand + "CMD date; echo ready\n", ownCommand + "CMD while true; do date; done\n"},
	{"loop until something", `error SBX326 false`, ownCommand + "CMD [\"sh\", \"-c\", \"date\"]\n",
		ownCommand + "CMD [\"sh\", \"-c\", \"until false; do date; done\"]\n"},
	{"endless for", `SBX326`, "", ownCommand + "CMD [\"bash\", \"-c\", \"for ((;;)); do date; done\"]\n"},
	{"loop in a group", `SBX326`, "", ownCommand + "CMD { while true; do date; done; } && echo over\n"},
	{"loop in a substitution", `SBX326`, "", ownCommand + "CMD echo $(while true; do date; done)\n"},
	{"printer and a server", `SBX326`, "", ownCommand + "CMD [\"bash\", \"-c\", \"false || b-server\"]\n"},
	{"background and wait", `SBX326`, "", ownCommand + "CMD [\"sh\", \"-c\", \"tail -f /dev/null & wait\"]\n"},
	{"trap and wait", `SBX326`, "", ownCommand + "CMD trap 'echo bye' TERM; sleep infinity & wait\n"},
	{"endless yes", `SBX326`, "", ownCommand + "CMD yes >/dev/null\n"},
	{"entrypoint that hands over", `SBX326`, "",
		ownCommand + "ENTRYPOINT [\"sh\", \"-c\", \"date; exec \\\"$@\\\"\", \"--\"]\nCMD [\"sleep\", \"infinity\"]\n"},
	{"program of the project called echo", `error SBX326 false`, ownCommand + "CMD [\"/bin/echo\", \"ready\"]\n",
		ownCommand + "COPY --from=golang:1.24 /x /app/echo\nCMD [\"/app/echo\"]\n"},
	{"loop of a service", `error SBX326 [`,
		"services:\n  app:\n    image: debian:13\n    command: [sh, -c, \"date; echo ready\"]\n    volumes: [\"..:/w\"]\n",
		"services:\n  app:\n    image: debian:13\n    command: [sh, -c, \"while true; do date; done\"]\n    volumes: [\"..:/w\"]\n"},
	// Users that a Dockerfile makes without their names.
	{"user of a loop", `error SBX703 "dev1"`, asDev + "RUN for n in a; do echo $n; useradd -m dev; done\n",
		asDev + "RUN for n in 1 2; do useradd -m dev$n; done\n"},
	{"user of an ARG", `error SBX703 "dev1"`, asDev + "ARG NAME=dev\nRUN useradd -m $NAME\n", asDev + "ARG NAME=dev1\nRUN useradd -m $NAME\n"},
	{"number of another user", `error SBX703 "dev1"`, asDev + "RUN echo 1001 > /uid\nRUN useradd -u \"$(cat /uid)\" -m dev\n",
		asDev + "RUN echo 1 > /n\nRUN useradd -m dev\"$(cat /n)\"\n"},
	{"users of xargs", `SBX703`, "", asDev + "RUN seq -f dev%g 1 3 | xargs -n1 useradd -m\n"},
	{"users in a list", `SBX703`, "", asDev + "RUN seq 1 3 | sed 's/.*/dev&:x:::::/' | newusers\n"},
	{"user written to the file", `SBX703`, "", asDev + "RUN n=1; echo \"dev$n:x:1000:1000::/:/bin/sh\" >> /etc/passwd\n"},
	{"user renamed", `SBX703`, "", asDev + "RUN usermod -l \"dev$(cat /n)\" games\n"},
	{"files over the root folder", `error SBX703 "dev1"`, asDev + "COPY . /opt\n",
		asDev + "COPY . /\n-- .devcontainer/etc/passwd --\n" + userDev1},
	{"system in an archive", `error SBX703 "dev1"`, asDev + "ADD rootfs.tar.gz /opt\n-- .devcontainer/rootfs.tar.gz --\n",
		asDev + "ADD rootfs.tar.gz /\n-- .devcontainer/rootfs.tar.gz --\n"},
	{"files over the WORKDIR that is the root folder", `error SBX703 "dev1"`, asDev + "WORKDIR /srv\nCOPY rootfs ./\n" + rootfs,
		asDev + "WORKDIR /\nCOPY rootfs ./\n" + rootfs},
	{"files over a folder of the root folder", `error SBX703 "dev1"`, asDev + "WORKDIR /etc\nWORKDIR app\nCOPY rootfs .\n" + rootfs,
		asDev + "WORKDIR /srv\nWORKDIR ..\nADD rootfs.tar.gz ./etc\n-- .devcontainer/rootfs.tar.gz --\n"},
	{"files copied over the root folder by a step", `warning SBX703 "dev1"`,
		asDev + "COPY rootfs /tmp/rootfs\nRUN cp -a /tmp/rootfs/. /\n", asDev +
			"COPY rootfs /tmp/rootfs\nRUN cp -a /tmp/rootfs/. / && id dev1\n"},
	{"programs in a WORKDIR of programs", `error SBX749 jq`, asDev + "WORKDIR /srv\nCOPY tools .\nRUN jq . x\n-- .devcontainer/tools/jq --\n",
		asDev + "WORKDIR /usr/local\nWORKDIR bin\nCOPY tools .\nRUN jq . x\n-- .devcontainer/tools/jq --\n"},
	{"user of a package", `error SBX703 postgres`, builtHere + "FROM debian:12\nRUN apt-get update\nUSER postgres\n",
		builtHere + "FROM debian:12\nRUN apt-get update && apt-get install -y postgresql\nUSER postgres\n"},
	{"user of a package with another name", `SBX703`, "",
		builtHere + "FROM debian:12\nRUN apt-get update && apt-get install -y mariadb-server\nUSER mysql\n"},
	{"program that may make any user", `warning SBX703 "dev1"`, asDev + "RUN ansible-playbook setup.yml\n",
		asDev + "RUN useradd dev1 && ansible-playbook setup.yml\n"},
	// Mounts.
	{"word for readonly", `error SBX310 "type`, `{"image": "a:1", "mounts": ["type=bind,source=/opt/a,target=/a,ro=yes"]}`,
		`{"image": "a:1", "mounts": ["type=bind,source=/opt/a,target=/a,ro=T"]}`},
	{"word for readonly that Podman takes", `warning SBX310 "source`, `{"image": "a:1", "mounts": ["source=a,target=/a,readonly=on"]}`,
		`{"image": "a:1", "mounts": ["source=a,target=/a,readonly=${localEnv:RO:true}"]}`},
	{"dot of a bind mount", `warning SBX310 "source`, `{"image": "a:1", "mounts": ["source=./a,target=/a,type=bind"]}` + "\n-- a/x --\n",
		`{"image": "a:1", "mounts": ["source=${localWorkspaceFolder}/a,target=/a,type=bind"]}` + "\n-- a/x --\n"},
	{"dots of a bind mount in an object", `warning SBX310 {`,
		`{"image": "a:1", "mounts": [{"source": "../a", "target": "/a", "type": "bind"}]}`,
		`{"image": "a:1", "mounts": [{"source": "a", "target": "/a", "type": "volume"}]}`},
	{"relative target of a mount by Compose", `error SBX310 "source`, mounting("source=a,target=b"),
		mounting("source=./a,target=/b,type=bind,more=yes")},
	{"readonly by Compose", `warning SBX310 "source`, mounting("source=/opt/a,target=/b,type=bind,readonly"),
		mounting("source=/opt/a,target=/b,type=bind,readonly=false")},
	{"readonly with a value by Compose", `warning SBX310 "source`, mounting("source=/opt/a,target=/b,type=bind,ro=true"),
		mounting("source=/opt/ro,target=/readonly,type=bind")},
	{"home in a mount by Compose", `SBX310`, "", mounting("source=~/a,target=/b,type=bind,more=x")},
	{"mount without a type by Compose", `SBX310`, "", mounting("source=${localEnv:HOME}/a,target=/b")},
	{"variable in a mount by Compose", `SBX320`, "", mounting("source=$HOME/a,target=/b,type=bind")},
	// Compose.
	{"space behind the colon of a port", `error SBX316 3000`, service + "    ports:\n      - 3000:\n",
		service + "    ports:\n      - 127.0.0.1:3000:3000\n"},
	{"environment without a value", `error SBX316 `, service + "    environment:\n", service + "    environment: {A: }\n"},
	{"number for a user", `error SBX316 1000`, service + "    user: 1000\n", service + "    user: '1000'\n"},
	{"health that is switched off", `error SBX316 db`, service + "    depends_on: {db: {condition: service_healthy}}\n" +
		"  db:\n    build: db\n    healthcheck: {disable: true}\n-- .devcontainer/db/Dockerfile --\n" +
		"FROM debian:13\nCMD [\"sleep\", \"infinity\"]\n",
		service + "    depends_on: {db: {condition: service_healthy}}\n  db:\n    image: x/y:1\n    healthcheck: {disable: false}\n"},
	{"health that is none", `error SBX316 db`, service + "    depends_on: {db: {condition: service_healthy}}\n" +
		"  db:\n    image: x/y:1\n    healthcheck: {test: [NONE]}\n",
		service + "    depends_on: {db: {condition: service_started}}\n  db:\n    image: x/y:1\n    healthcheck: {test: NONE}\n"},
	{"port with the host's network", `warning SBX411 "3000`, service + "    network_mode: host\n    ports: [\"3000:3000\"]\n",
		service + "    network_mode: host\n"},
	{"port with the host's network by an option", `warning SBX411 "-p"`,
		`{"image": "a:1", "runArgs": ["--net=host", "-p", "127.0.0.1:3000:3000"]}`,
		`{"image": "a:1", "runArgs": ["--net=bridge", "-p", "127.0.0.1:3000:3000"]}`},
	{"port of no service", `warning SBX323 "database`, forwarding("database:5432") + service + "  db: {image: \"postgres:17\"}\n",
		forwarding("db:5432") + service + "  db: {image: \"postgres:17\"}\n"},
	{"port of an alias", `SBX323`, "", forwarding("database:5432") + service +
		"  db: {image: \"postgres:17\", networks: {default: {aliases: [database]}}}\n"},
	{"port of a container's name", `SBX323`, "",
		forwarding("database:5432") + service + "  db: {image: \"postgres:17\", container_name: database}\n"},
	{"port of a network from outside", `SBX323`, "",
		forwarding("database:5432") + service + "networks: {default: {external: true, name: x}}\n"},
	{"new volume as the workspace", `warning SBX317 /w`,
		"services:\n  app:\n    image: debian:13\n    command: sleep infinity\n    volumes: [/w]\n",
		"services:\n  app:\n    image: debian:13\n    command: sleep infinity\n    volumes: [\"..:/w\", /w/node_modules]\n"},
	{"new volume that a hook fills", `SBX317`, "",
		`{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": "/w", "postCreateCommand": "git clone https://x.test/y ."}` +
			"\n-- .devcontainer/compose.yaml --\nservices:\n  app:\n    image: debian:13\n    command: sleep infinity\n    volumes: [/w]\n"},
	{"volume with a name as the workspace", `SBX317`, "",
		"services:\n  app:\n    image: debian:13\n    command: sleep infinity\n    volumes: [\"src:/w\"]\nvolumes: {src: }\n"},
	// Hooks and variables.
	{"variable of a shell in an array", `warning SBX314 "$HOME`, `{"image": "a:1", "postCreateCommand": ["mkdir", "-p", "$HOME/.cache"]}`,
		`{"image": "a:1", "postCreateCommand": ["sh", "-c", "mkdir -p $HOME/.cache"]}`},
	{"variable that a program reads itself", `SBX314`, "", `{"image": "a:1", "postCreateCommand": ["envsubst", "$HOME/x"]}`},
	{"hook that is only cd", `warning SBX734 "cd`, `{"image": "a:1", "postCreateCommand": "cd app"}`,
		`{"image": "a:1", "postCreateCommand": "cd app && make"}`},
	{"home in a variable", `warning SBX320 "~/`, `{"image": "a:1", "containerEnv": {"A": "~/.x"}}`,
		`{"image": "a:1", "containerEnv": {"A": "1~2", "B": "x~/y"}}`},
	{"the host's PATH", `warning SBX327 "${localEnv`, `{"image": "a:1", "remoteEnv": {"PATH": "${localEnv:PATH}:/opt/bin"}}`,
		`{"image": "a:1", "remoteEnv": {"PATH": "${containerEnv:PATH}:${localEnv:PATH}"}}`},
	{"variable of an editor in a hook", `warning SBX304 "echo`, `{"image": "a:1", "postCreateCommand": "echo ${workspaceFolder}"}`,
		`{"image": "a:1", "postCreateCommand": "workspaceFolder=$PWD; echo ${workspaceFolder}"}`},
	{"variable of an editor that a hook writes", `SBX304`, "",
		`{"image": "a:1", "postCreateCommand": "echo '{\"a\": \"${workspaceFolder}\"}' > x"}`},
	{"variable of an editor in an array", `SBX304`, "", `{"image": "a:1", "postCreateCommand": ["echo", "${workspaceFolder}"]}`},
	{"variable of an editor that is set", `SBX304`, "",
		`{"image": "a:1", "remoteEnv": {"workspaceFolder": "/w"}, "postCreateCommand": "echo ${workspaceFolder}"}`},
	// Podman takes one word that Docker refuses.
	{"removed and started again", `error SBX321 "--restart=always"`, `{"image": "a:1", "runArgs": ["--rm", "--restart=always"]}`,
		`{"image": "a:1", "runArgs": ["--restart=always"]}`},
	{"removed and started again after a failure", `warning SBX321 "--restart=on-failure"`,
		`{"image": "a:1", "runArgs": ["--rm", "--restart=on-failure"]}`, `{"image": "a:1", "runArgs": ["--restart=on-failure"]}`},
	{"removed and started three times", `error SBX321 "--restart=on-failure:3"`,
		`{"image": "a:1", "runArgs": ["--rm", "--restart=on-failure:3"]}`, `{"image": "a:1", "runArgs": ["--restart=on-failure:3"]}`},
}

// A mistake has its finding, and its correct twin has none of that rule.
func TestWrittenPairs(t *testing.T) { testPairs(t, writtenPairs) }

func testPairs(t *testing.T, pairs []pair) {
	t.Helper()
	for _, p := range pairs {
		words := strings.SplitN(p.want, " ", 3)
		id := words[min(1, len(words)-1)]
		for _, f := range judge(t, written{files: p.right}.tree()) {
			if f.Rule == id {
				t.Errorf("%s: the correct one has %s %s %s", p.name, f.Severity, f.Rule, f.Message)
			}
		}
		if p.wrong == "" {
			continue
		}
		tree, hit := written{files: p.wrong}.tree(), false
		var said []string
		for _, f := range judge(t, tree) {
			at := strings.Split(tree[f.File], "\n")[f.Line-1][f.Column-1:]
			said = append(said, string(f.Severity)+" "+f.Rule+" "+at)
			hit = hit || string(f.Severity) == words[0] && f.Rule == id && strings.HasPrefix(at, words[2])
		}
		if !hit {
			t.Errorf("%s: not found: %s, but %q", p.name, p.want, said)
		}
	}
}
