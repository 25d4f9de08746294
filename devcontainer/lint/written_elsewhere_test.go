package lint_test

// writtenElsewhere are mistakes in Compose files, Features, Templates, hooks and options, where
// tools say least about them.
var writtenElsewhere = []written{
	// Compose.
	{"image in capitals in Compose", `SBX322 Debian:13`, "services:\n  app:\n    image: Debian:13\n    volumes: [\"..:/w\"]\n"},
	{"image as an address in Compose", `SBX322 https://`, "services:\n  app:\n    image: https://ghcr.io/a/b:1\n    volumes: [\"..:/w\"]\n"},
	{"no context in Compose", `SBX311|SBX316 nowhere`,
		"services:\n  app:\n    build: nowhere\n    command: sleep infinity\n    volumes: [\"..:/w\"]\n"},
	{"no Dockerfile in Compose", `SBX311|SBX316 Dockerfile.dev`,
		"services:\n  app:\n    build: {context: ., dockerfile: Dockerfile.dev}\n    command: sleep infinity\n    volumes: [\"..:/w\"]\n"},
	{"target that is not there in Compose", `SBX712 dev`,
		"services:\n  app:\n    build: {context: ., target: dev}\n    volumes: [\"..:/w\"]\n" +
			"-- .devcontainer/Dockerfile --\nFROM debian:13 AS base\n"},
	{"argument that nothing takes in Compose", `SBX713 x`, "services:\n  app:\n    build: {context: ., args: {VARIENT: x}}\n" +
		"    volumes: [\"..:/w\"]\n-- .devcontainer/Dockerfile --\nARG VARIANT=13\nFROM debian:${VARIANT}\n"},
	{"user of no image in Compose", `SBX703 vscode`,
		"services:\n  app:\n    image: debian:13\n    user: vscode\n    command: sleep infinity\n" +
			"    volumes: [\"..:/w\"]\n"},
	{"remoteUser that the service's image lacks", `SBX703 "vscode"`, "services:\n  app:\n    image: node:24\n    command: sleep infinity\n" +
		"    volumes: [\"..:/w\"]\n-- .devcontainer/devcontainer.json --\n" +
		`{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": "/w", "remoteUser": "vscode"}`},
	{"volume that nothing declares", `SBX316 data:/data`, "services:\n  app:\n    image: debian:13\n    volumes: [\"..:/w\", data:/data]\n"},
	{"network that nothing declares", `SBX316 back`,
		"services:\n  app:\n    image: debian:13\n    networks: [back]\n    volumes: [\"..:/w\"]\n"},
	{"secret that nothing declares", `SBX316 key`, "services:\n  app:\n    image: debian:13\n    secrets: [key]\n    volumes: [\"..:/w\"]\n"},
	{"port out of range in Compose", `SBX316 70000:80`,
		"services:\n  app:\n    image: debian:13\n    ports: [70000:80]\n    volumes: [\"..:/w\"]\n"},
	{"key twice in Compose", `SBX102|SBX316 image`,
		"services:\n  app:\n    image: debian:13\n    volumes: [\"..:/w\"]\n    image: debian:12\n"},
	{"map in a list of variables", `SBX316 A: b`,
		"services:\n  app:\n    image: debian:13\n    environment:\n      - A: b\n    volumes: [\"..:/w\"]\n"},
	{"command line in an array in Compose", `SBX314 ["sleep infinity"]`,
		"services:\n  app:\n    image: debian:13\n    command: [\"sleep infinity\"]\n" +
			"    volumes: [\"..:/w\"]\n"},
	{"condition misspelt", `SBX316 service_helthy`, "services:\n  app:\n    image: debian:13\n    volumes: [\"..:/w\"]\n" +
		"    depends_on: {db: {condition: service_helthy}}\n  db: {image: postgres:17}\n"},
	{"extends what is not there", `SBX316 `,
		"services:\n  app:\n    extends: {service: base}\n    image: debian:13\n    volumes: [\"..:/w\"]\n"},
	{"network of an unknown service", `SBX316 service:db`,
		"services:\n  app:\n    image: debian:13\n    network_mode: service:db\n    volumes: [\"..:/w\"]\n"},
	{"services misspelt", `SBX316|SBX313 `,
		"-- .devcontainer/compose.yaml --\nservice:\n  app:\n    image: debian:13\n    volumes: [\"..:/w\"]\n" +
			"-- .devcontainer/devcontainer.json --\n" + `{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": "/w"}`},
	{"our variable in Compose", `SBX304 "${localWorkspaceFolder}:/w`,
		"services:\n  app:\n    image: debian:13\n    volumes: [\"${localWorkspaceFolder}:/w\"]\n"},
	{"the editor's variable in Compose", `SBX316 "${localEnv:HOME}/x:/x`,
		"services:\n  app:\n    image: debian:13\n    volumes: [\"..:/w\", \"${localEnv:HOME}/x:/x\"]\n"},
	{"entrypoint that ends", `SBX326 `, "services:\n  app:\n    image: debian:13\n    entrypoint: echo hi\n    volumes: [\"..:/w\"]\n"},
	{"service to start that is not there", `SBX313 "dbb"`,
		"services:\n  app:\n    image: debian:13\n    command: sleep infinity\n    volumes: [\"..:/w\"]\n" +
			"  db: {image: postgres:17}\n-- .devcontainer/devcontainer.json --\n" +
			`{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": "/w", "runServices": ["app", "dbb"]}`},
	{"env_file that is not there", `SBX311|SBX316 dev.env`,
		"services:\n  app:\n    image: debian:13\n    env_file: dev.env\n    volumes: [\"..:/w\"]\n"},
	{"restart misspelt", `SBX316 allways`, "services:\n  app:\n    image: debian:13\n    restart: allways\n    volumes: [\"..:/w\"]\n"},
	// Dockerfiles.
	{"image in capitals in FROM", `SBX322 Debian:13`,
		`{"build": {"dockerfile": "Dockerfile"}}` + "\n-- .devcontainer/Dockerfile --\nFROM Debian:13\n"},
	{"image in capitals in a FROM that nothing needs", `SBX322 Node:24`, `{"build": {"dockerfile": "Dockerfile"}}` +
		"\n-- .devcontainer/Dockerfile --\nFROM Node:24 AS left\nFROM debian:13\n"},
	{"image as an address in COPY", `SBX322 https://ghcr.io/a/b:1`, `{"build": {"dockerfile": "Dockerfile"}}` +
		"\n-- .devcontainer/Dockerfile --\nFROM debian:13\nCOPY --from=https://ghcr.io/a/b:1 /x /x\n"},
	{"image of a mount with half a digest", `SBX322 ghcr.io/a/b@sha256:12`, `{"build": {"dockerfile": "Dockerfile"}}` +
		"\n-- .devcontainer/Dockerfile --\nFROM debian:13\nRUN --mount=from=ghcr.io/a/b@sha256:12,target=/x true\n"},
	{"step with if and without fi", `SBX748 if`,
		`{"build": {"dockerfile": "Dockerfile"}}` + "\n-- .devcontainer/Dockerfile --\nFROM debian:13\nRUN if [ -f /x ]; then echo hi\n"},
	{"quote that stays open", `SBX748 "hi`,
		`{"build": {"dockerfile": "Dockerfile"}}` +
			"\n-- .devcontainer/Dockerfile --\nFROM debian:13\nRUN make && echo \"hi && \\\n  make install\n"},
	{"&& at the end of a step", `SBX748 &&`,
		`{"build": {"dockerfile": "Dockerfile"}}` + "\n-- .devcontainer/Dockerfile --\nFROM debian:13\nRUN make &&\nRUN make install\n"},
	{"comment behind EXPOSE", `SBX715 #`,
		`{"build": {"dockerfile": "Dockerfile"}}` + "\n-- .devcontainer/Dockerfile --\nFROM debian:13\nEXPOSE 3000 # web\n"},
	{"COPY of an address", `SBX715 https://x.test/a.tgz`,
		`{"build": {"dockerfile": "Dockerfile"}}` + "\n-- .devcontainer/Dockerfile --\nFROM debian:13\nCOPY https://x.test/a.tgz /a.tgz\n"},
	{"COPY from a variable", `SBX715 --from=$BASE`,
		`{"build": {"dockerfile": "Dockerfile"}}` +
			"\n-- .devcontainer/Dockerfile --\nFROM debian:13\nARG BASE=debian:13\nCOPY --from=$BASE /a /a\n"},
	{"space in a mount", `SBX715 RUN --mount`,
		`{"build": {"dockerfile": "Dockerfile"}}` +
			"\n-- .devcontainer/Dockerfile --\nFROM debian:13\nRUN --mount=type=cache, target=/root/.cache true\n"},
	{"ARG behind FROM for FROM", `SBX730 debian:${V}`,
		`{"build": {"dockerfile": "Dockerfile"}}` + "\n-- .devcontainer/Dockerfile --\nFROM debian:${V}\nARG V=13\n"},
	// Features.
	{"value that is no choice of a local Feature", `SBX325 "20x"`, `{"image": "a:1", "features": {"./tool": {"version": "20x"}}}` +
		"\n-- .devcontainer/tool/devcontainer-feature.json --\n" +
		`{"id": "tool", "version": "1.0.0", "options": {"version": {"type": "string", "enum": ["20", "22"], "default": "20"}}}` +
		"\n-- .devcontainer/tool/install.sh --\n"},
	{"text for a yes or no of a local Feature", `SBX325 "yes"`, `{"image": "a:1", "features": {"./tool": {"zsh": "yes"}}}` +
		"\n-- .devcontainer/tool/devcontainer-feature.json --\n" +
		`{"id": "tool", "version": "1.0.0", "options": {"zsh": {"type": "boolean", "default": true}}}` +
		"\n-- .devcontainer/tool/install.sh --\n"},
	{"Feature with a version behind @", `SBX325|SBX322 "ghcr.io/a/b/c@1`, `{"image": "a:1", "features": {"ghcr.io/a/b/c@1": {}}}`},
	{"Feature by its page", `SBX604|SBX325 "https://github.com`,
		`{"image": "a:1", "features": {"https://github.com/devcontainers/features/tree/main/src/go": {}}}`},
	{"Feature of the repository without its program", `SBX911|SBX311 `, `{"image": "a:1", "features": {"./tool": {}}}` +
		"\n-- .devcontainer/tool/devcontainer-feature.json --\n{\"id\": \"tool\", \"version\": \"1.0.0\"}"},
	{"dependency that is not there", `SBX311|SBX325 "./base"`, `{"image": "a:1", "features": {"./tool": {}}}` +
		"\n-- .devcontainer/tool/devcontainer-feature.json --\n{\"id\": \"tool\", \"version\": \"1.0.0\", \"dependsOn\": {\"./base\": {}}}" +
		"\n-- .devcontainer/tool/install.sh --\n"},
	{"program of a Feature with CRLF", `SBX913 `, `{"image": "a:1", "features": {"./tool": {}}}` +
		"\n-- .devcontainer/tool/devcontainer-feature.json --\n{\"id\": \"tool\", \"version\": \"1.0.0\"}\n" +
		"-- .devcontainer/tool/install.sh --\n#!/bin/sh\r\nset -e\r\napt-get update\r\n"},
	{"default of no choice", `SBX914 "12"`, `{"image": "a:${templateOption:variant}"}` + "\n-- devcontainer-template.json --\n" +
		`{"id": "t", "version": "1.0.0", "name": "t", "options": {"variant": {"type": "string", "enum": ["13"], "default": "12"}}}`},
	{"option of a Dockerfile that is not declared", `SBX906 `, `{"build": {"dockerfile": "Dockerfile"}}` +
		"\n-- .devcontainer/Dockerfile --\nFROM debian:${templateOption:tag}\n-- devcontainer-template.json --\n" +
		`{"id": "t", "version": "1.0.0", "name": "t"}`},
	{"mistake in a Template", `SBX201 "remoteuser"`, `{"image": "a:1", "remoteuser": "x"}` + "\n-- devcontainer-template.json --\n" +
		`{"id": "t", "version": "1.0.0", "name": "t"}`},
	// Hooks.
	{"script of the configuration's folder", `SBX318 "bash setup.sh"`, `{"image": "a:1", "postCreateCommand": "bash setup.sh"}` +
		"\n-- .devcontainer/setup.sh --\necho hi\n"},
	{"script by the slashes of Windows", `SBX318 "bash .devcontainer\\setup.sh"`,
		`{"image": "a:1", "postCreateCommand": "bash .devcontainer\\setup.sh"}` +
			"\n-- .devcontainer/setup.sh --\necho hi\n"},
	{"script in an array", `SBX318 ["bash"`, `{"image": "a:1", "postCreateCommand": ["bash", ".devcontainer/setup.sh"]}`},
	{"script behind another command", `SBX318 "`, `{"image": "a:1", "postCreateCommand": "sudo chown -R node . && .devcontainer/setup.sh"}`},
	{"&& at the end", `SBX319 "npm ci &&"`, `{"image": "a:1", "postCreateCommand": "npm ci &&"}`},
	{"source in a plain shell", `SBX319 "source `,
		`{"image": "debian:13", "postCreateCommand": "source .venv/bin/activate && pip install -e ."}`},
	{"brackets of bash in a plain shell", `SBX319 "[[ `, `{"image": "debian:13", "postCreateCommand": "[[ -f x ]] && make"}`},
	{"array of bash in a plain shell", `SBX319 "`, `{"image": "python:3.13", "postCreateCommand": "a=(1 2); echo ${a[0]}"}`},
	{"sudo in an image without it", `SBX735 "sudo `, `{"image": "debian:13", "postCreateCommand": "sudo apt-get update"}`},
	{"install that asks in a hook", `SBX724 "apt-get`, `{"image": "debian:13", "postCreateCommand": "apt-get update && apt-get install git"}`},
	{"list of packages that is not there", `SBX318 "pip install`,
		`{"image": "python:3.13", "postCreateCommand": "pip install -r requirements-dev.txt"}` +
			"\n-- requirements.txt --\n"},
	{"wait for a hook misspelt", `SBX203 "postCreate"`, `{"image": "a:1", "waitFor": "postCreate"}`},
	// Options of the engine, and values.
	{"user of the engine's that the image lacks", `SBX703 "`, `{"image": "debian:13", "runArgs": ["--user", "vscode"]}`},
	{"word that is no option", `SBX321 "host"`, `{"image": "a:1", "runArgs": ["--init", "host"]}`},
	{"long option with one dash", `SBX321 "-privileged"`, `{"image": "a:1", "runArgs": ["-privileged"]}`},
	{"long option with one dash and a value", `SBX321 "-network=host"`, `{"image": "a:1", "runArgs": ["-network=host"]}`},
	{"name with a space", `SBX321 "--name=my container"`, `{"image": "a:1", "runArgs": ["--name=my container"]}`},
	{"file of variables that is not there", `SBX311 "--env-file"`,
		`{"image": "a:1", "runArgs": ["--env-file", ".devcontainer/devcontainer.env"]}`},
	{"container in the background", `SBX321 "-d"`, `{"image": "a:1", "runArgs": ["-d"]}`},
	{"home folder by a tilde", `SBX310 "source=~/`, `{"image": "a:1", "mounts": ["source=~/.cache,target=/c,type=bind"]}`},
	{"relative source", `SBX310 "source=data`, `{"image": "a:1", "mounts": ["source=data,target=/d,type=bind"]}`},
	{"source that is not there", `SBX310|SBX311 "source=`,
		`{"image": "a:1", "mounts": ["source=${localWorkspaceFolder}/cache,target=/d,type=bind"]}`},
	{"the root as a target", `SBX310 "source=x`, `{"image": "a:1", "mounts": ["source=x,target=/,type=volume"]}`},
	{"workspaceMount without a type", `SBX310 "source=`,
		`{"image": "a:1", "workspaceFolder": "/w", "workspaceMount": "source=${localWorkspaceFolder},target=/w"}`},
	{"PATH without the system's", `SBX327 "/opt/x/bin"`, `{"image": "debian:13", "containerEnv": {"PATH": "/opt/x/bin"}}`},
	{"extension by its page", `SBX324 "https://marketplace`,
		`{"image": "a:1", "customizations": {"vscode": {"extensions": ["https://marketplace.visualstudio.com/items?itemName=a.b"]}}}`},
	{"extensions as a text", `SBX324|SBX202 "a.b"`, `{"image": "a:1", "customizations": {"vscode": {"extensions": "a.b"}}}`},
	{"tool misspelt", `SBX324 "codespace"`, `{"image": "a:1", "customizations": {"codespace": {"openFiles": ["README.md"]}}}`},
	{"action for a port misspelt", `SBX203 "openbrowser"`, `{"image": "a:1", "portsAttributes": {"3000": {"onAutoForward": "openbrowser"}}}`},
	{"port as a text", `SBX203 "3000"`, `{"image": "a:1", "forwardPorts": ["3000"]}`},
	// Dockerfile.
	{"line without a backslash", `SBX715 git`, "FROM debian:13\nRUN apt-get update && apt-get install -y curl\n    git\n"},
	{"pair of ports to expose", `SBX715|SBX746 `, "FROM debian:13\nEXPOSE 3000:3000\n"},
	{"tilde in WORKDIR", `SBX747 ~/app`, "FROM debian:13\nWORKDIR ~/app\n"},
	{"tilde in COPY", `SBX747 ~/`, "FROM debian:13\nCOPY a ~/\n-- .devcontainer/a --\n"},
	{"PATH of a Dockerfile without the system's", `SBX327 `, "FROM debian:13\nENV PATH=/opt/x/bin\nRUN make\n"},
	{"owner that the image lacks", `SBX703 `, "FROM debian:13\nCOPY --chown=dev:dev a /a\n-- .devcontainer/a --\n"},
	{"install without lists", `SBX710 apt-get`, "FROM debian:13\nRUN apt-get install -y curl\n"},
	{"stage misspelt in a mount", `SBX719|SBX712 `,
		"FROM debian:13 AS build\nFROM debian:13\nRUN --mount=type=bind,from=biuld,target=/x make\n"},
	{"the editor's variable in a Dockerfile", `SBX304 ${localW`, "FROM debian:13\nCOPY ${localWorkspaceFolder}/x /x\n"},
	{"user misspelt", `SBX703 devel`, "FROM debian:13\nRUN useradd --create-home dev\nUSER devel\n"},
	{"file ignored", `SBX742 build`, "FROM debian:13\nCOPY build /x\n-- .devcontainer/build --\n-- .devcontainer/.dockerignore --\nbuild\n"},
}
