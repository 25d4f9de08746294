package lint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
)

// composedAt is a configuration by Compose whose service has the project at /w, with more of the configuration's own.
func composedAt(folder, more string) string {
	return `{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": "` + folder + `"` + more + `}` +
		"\n-- .devcontainer/compose.yaml --\n"
}

const databaseService = "  db:\n    image: postgres:17\n    environment: {POSTGRES_PASSWORD: x}\n"

const ignored = "\n-- .devcontainer/Dockerfile --\nFROM debian:12\nCOPY docs/a.md /a.md\n-- docs/a.md --\n-- .dockerignore --\n"

// writtenFresh are mistakes of projects that were written without a look at the rules; the reference CLI and the engine
// refuse each, and take what stands next to it.
var writtenFresh = []pair{
	// A Compose project's hooks begin in what the service mounts.
	{"script of a hook with Compose", `error SBX318 "bash`,
		composedAt("/w", `, "postCreateCommand": "bash .devcontainer/setup.sh"`) + service + "-- a.go --\n", composedAt("/w",
			`, "postCreateCommand": "bash .devcontainer/setup.sh"`) +
			service + "-- .devcontainer/setup.sh --\ntrue\n"},
	{"folder of a hook with Compose", `error SBX318 "cd`, composedAt("/w", `, "postCreateCommand": "cd web && ls"`) + service +
		"-- api/a.go --\n", composedAt("/w", `, "postCreateCommand": "cd web && ls"`) + service + "-- web/a.ts --\n"},
	{"script below the folder of all projects", `error SBX318 "bash`, composedAt("/workspaces/${localWorkspaceFolderBasename}",
		`, "postCreateCommand": "bash setup.sh"`) +
		"services:\n  app:\n    image: x/y:1\n    volumes: [\"../..:/workspaces:cached\"]\n-- a.go --\n",
		composedAt("/workspaces/${localWorkspaceFolderBasename}", `, "postCreateCommand": "bash setup.sh"`) +
			"services:\n  app:\n    image: x/y:1\n    volumes: [\"../..:/workspaces:cached\"]\n-- setup.sh --\ntrue\n"},
	{"script in a volume", `SBX318`, "", composedAt("/w", `, "postCreateCommand": "bash setup.sh"`) +
		"services:\n  app:\n    image: x/y:1\n    volumes: [\"code:/w\"]\nvolumes: {code: }\n-- a.go --\n"},
	{"script in a folder above the project", `SBX318`, "", composedAt("/w", `, "postCreateCommand": "bash setup.sh"`) +
		"services:\n  app:\n    image: x/y:1\n    volumes: [\"../..:/w\"]\n-- a.go --\n"},
	{"folder that the editor opens", `warning SBX317 "/w/api"`, composedAt("/w/api", "") + service + "-- web/a.ts --\n",
		composedAt("/w/api", "") + service + "-- api/a.go --\n"},
	{"folder of the editor in a volume", `SBX317`, "", composedAt("/w/api", "") +
		"services:\n  app:\n    image: x/y:1\n    volumes: [\"..:/w\", \"/w/api\"]\n-- web/a.ts --\n"},
	{"folder that the editor opens, of an image", `warning SBX317 "/workspaces`,
		imaged("debian:12", `, "workspaceFolder": "/workspaces/${localWorkspaceFolderBasename}/api"`) + "\n-- web/a.ts --\n",
		imaged("debian:12", `, "workspaceFolder": "/workspaces/${localWorkspaceFolderBasename}/api"`) + "\n-- api/a.go --\n"},
	{"script behind one that makes no file", `error SBX318 "bash .devcontainer/b.sh`,
		imaged("debian:12", `, "onCreateCommand": "bash .devcontainer/a.sh", "postCreateCommand": "bash .devcontainer/b.sh"`) +
			"\n-- .devcontainer/a.sh --\nset -e\nnpm config set fund false\n",
		imaged("debian:12", `, "onCreateCommand": "bash .devcontainer/a.sh", "postCreateCommand": "bash .devcontainer/b.sh"`) +
			"\n-- .devcontainer/a.sh --\nset -e\ncp x .devcontainer/b.sh\n"},
	{"script of .devcontainer from a folder below", `error SBX318 "bash`,
		imaged("debian:12", `, "workspaceFolder": "/workspaces/${localWorkspaceFolderBasename}/api",
			"postCreateCommand": "bash .devcontainer/a.sh"`) +
			"\n-- api/a.go --\n-- .devcontainer/a.sh --\ntrue\n",
		imaged("debian:12", `, "workspaceFolder": "/workspaces/${localWorkspaceFolderBasename}/api",
			"postCreateCommand": "bash ../.devcontainer/a.sh"`) +
			"\n-- api/a.go --\n-- .devcontainer/a.sh --\ntrue\n"},
	{"job that ends with its hook", `warning SBX328 "nohup`, imaged("debian:12", `, "postStartCommand": "nohup ./serve > /tmp/l 2>&1 &"`),
		imaged("debian:12", `, "postStartCommand": "nohup sh -c './serve > /tmp/l 2>&1 &'"`)},
	{"job that the hook waits for", `SBX328`, "", imaged("debian:12", `, "postCreateCommand": "make a & make b & wait"`)},
	// Official Features make no user but those of common-utils.
	{"user of no Feature", `error SBX703 "python"`, imaged("mcr.microsoft.com/devcontainers/python:3.10-bookworm",
		`, "features": {"ghcr.io/devcontainers/features/aws-cli:1": {}}, "remoteUser": "python"`),
		imaged("mcr.microsoft.com/devcontainers/python:3.10-bookworm",
			`, "features": {"ghcr.io/x/features/aws-cli:1": {}}, "remoteUser": "python"`)},
	{"other user than that of common-utils", `error SBX703 "developer"`, imaged("debian:12",
		`, "features": {"ghcr.io/devcontainers/features/common-utils:2": {"username": "dev"}}, "remoteUser": "developer"`),
		imaged("debian:12", `, "features": {"ghcr.io/devcontainers/features/common-utils:2": {}}, "remoteUser": "developer"`)},
	// What initializeCommand may make is not missing.
	{"variables' file of Compose", `error SBX311 .env`, composedAt("/w", `, "initializeCommand": "docker network create x || true"`) +
		service + "    env_file: .env\n", composedAt("/w", `, "initializeCommand": "test -f .devcontainer/.env || cp a .devcontainer/.env"`) +
		service + "    env_file: .env\n"},
	{"variables' file of a script", `SBX311`, "", composedAt("/w", `, "initializeCommand": "sh .devcontainer/dotenv.sh"`) +
		service + "    env_file: .env\n-- .devcontainer/dotenv.sh --\n"},
	{"Dockerfile of a script", `error SBX311 "Dockerfile"`, `{"initializeCommand": "echo hi", "build": {"dockerfile": "Dockerfile"}}`,
		`{"initializeCommand": "cp a.Dockerfile .devcontainer/Dockerfile", "build": {"dockerfile": "Dockerfile"}}`},
	{"Dockerfile below a folder that is not there", `error SBX311 docker/dev/Dockerfile`, composedAt("/w", "") +
		"services:\n  app:\n    build:\n      context: .\n      dockerfile: docker/dev/Dockerfile\n    volumes: [\"..:/w\"]\n" +
		"-- docker/dev/Dockerfile --\nFROM debian:12\n", composedAt("/w", "") +
		"services:\n  app:\n    build:\n      context: ..\n      dockerfile: docker/dev/Dockerfile\n    volumes: [\"..:/w\"]\n" +
		"-- docker/dev/Dockerfile --\nFROM debian:12\n"},
	// Hooks start in the folder that is opened, which is not in PATH.
	{"list of packages above the project", `error SBX318 "pip`,
		imaged("python:3.12", `, "postCreateCommand": "pip install -r ../dev.txt"`) + "\n-- dev.txt --\n",
		imaged("python:3.12", `, "postCreateCommand": "pip install -r dev.txt"`) + "\n-- dev.txt --\n"},
	{"list of packages above the project on the host", `SBX318`, "",
		imaged("debian:12", `, "initializeCommand": "pip install -r ../dev.txt"`) + "\n-- dev.txt --\n"},
	{"list of packages above the project in a mount", `SBX318`, "", imaged("debian:12",
		`, "mounts": ["type=volume,source=a,target=/workspaces"], "postCreateCommand": "pip install -r ../dev.txt"`) + "\n-- dev.txt --\n"},
	{"script by its name alone", `error SBX318 "init.sh"`, imaged("debian:12", `, "postCreateCommand": "init.sh"`) +
		"\n-- init.sh --\ntrue\n", imaged("debian:12", `, "postCreateCommand": "sh init.sh"`) + "\n-- init.sh --\ntrue\n"},
	{"script that is copied into PATH", `SBX318`, "",
		imaged("debian:12", `, "postCreateCommand": "cp init.sh /usr/local/bin/ && init.sh"`) + "\n-- init.sh --\ntrue\n"},
	{"script in a PATH of the configuration", `SBX318`, "", imaged("debian:12",
		`, "remoteEnv": {"PATH": "${containerWorkspaceFolder}:${containerEnv:PATH}"}, "postCreateCommand": "init.sh"`) +
		"\n-- init.sh --\ntrue\n"},
	{"server of JSON", `warning SBX328 "npx`, imaged("debian:12", `, "postStartCommand": "npx json-server --watch db.json"`),
		imaged("debian:12", `, "postStartCommand": "nohup sh -c 'npx json-server --watch db.json > /tmp/log 2>&1 &'"`)},
	{"folder that a file is copied into", `error SBX318 "cp`,
		imaged("debian:12", `, "postCreateCommand": "cp apps/api/.env.example pps/api/.env"`) + "\n-- apps/api/.env.example --\n",
		imaged("debian:12", `, "postCreateCommand": "mkdir -p app/api && cp apps/api/.env.example app/api/.env"`) +
			"\n-- apps/api/.env.example --\n"},
	{"file that the editor opens", `error SBX317 "/workspaces`,
		imaged("debian:12", `, "workspaceFolder": "/workspaces/a/a.code-workspace", "postCreateCommand": "ls"`) + "\n-- a.code-workspace --\n",
		imaged("debian:12", `, "workspaceFolder": "/workspaces/a/a.code-workspace"`) + "\n-- a.code-workspace --\n"},
	// Official Features that the image does not take.
	{"Feature of apt on Alpine", `error SBX325 "ghcr.io`, imaged("mcr.microsoft.com/devcontainers/base:alpine-3.20",
		`, "features": {"ghcr.io/devcontainers/features/python:1": {}}`), imaged("mcr.microsoft.com/devcontainers/base:alpine-3.20",
		`, "features": {"ghcr.io/devcontainers/features/git:1": {}, "ghcr.io/devcontainers/features/common-utils:2": {}}`)},
	{"Feature of apt on Alpine in a Dockerfile", `error SBX325 "ghcr.io`, `{"build": {"dockerfile": "Dockerfile"}, "features": {` +
		`"ghcr.io/devcontainers/features/node:1": {}}}` + "\n-- .devcontainer/Dockerfile --\nFROM node:22-alpine\nRUN apk add bash\n",
		`{"build": {"dockerfile": "Dockerfile"}, "features": {` +
			`"ghcr.io/devcontainers/features/node:1": {}}}` + "\n-- .devcontainer/Dockerfile --\nFROM node:22-alpine AS a\nFROM debian:12\n"},
	{"moby on trixie", `error SBX325 "ghcr.io`, imaged("mcr.microsoft.com/devcontainers/typescript-node:24-trixie",
		`, "features": {"ghcr.io/devcontainers/features/docker-in-docker:2": {"version": "latest"}}`),
		imaged("mcr.microsoft.com/devcontainers/typescript-node:24-trixie",
			`, "features": {"ghcr.io/devcontainers/features/docker-in-docker:2": {"moby": false}}`)},
	{"moby on bookworm", `SBX325`, "", imaged("mcr.microsoft.com/devcontainers/typescript-node:22-bookworm",
		`, "features": {"ghcr.io/devcontainers/features/docker-outside-of-docker:1": {}}`)},
	// No shell reads the engine's options.
	{"variable of a shell in an option", `warning SBX320 "-e"`, imaged("debian:12", `, "runArgs": ["-e", "CREDS=$MY_CREDS"]`),
		imaged("debian:12", `, "runArgs": ["-e", "CREDS=${localEnv:MY_CREDS}"]`)},
	// Ports are forwarded from the dev container, unless a service is named.
	{"port of another service", `warning SBX332 5432`, composedAt("/w", `, "forwardPorts": [3000, 5432]`) + service + databaseService,
		composedAt("/w", `, "forwardPorts": [3000, "db:5432"]`) + service + databaseService},
	{"port of a service that publishes it", `SBX332`, "",
		composedAt("/w", `, "forwardPorts": [5432]`) + service + databaseService + "    ports: [\"127.0.0.1:5432:5432\"]\n"},
	{"port of a service with the same network", `SBX332`, "",
		composedAt("/w", `, "forwardPorts": [5432]`) + service + "    network_mode: service:db\n" + databaseService},
	// Numbers and names that the engine refuses.
	{"port too high", `error SBX321 "3000:80000"`, `{"image": "a:1", "appPort": ["3000:80000"]}`,
		`{"image": "a:1", "appPort": ["127.0.0.1:3000:65535/tcp"]}`},
	{"port too high in an option", `error SBX321 "-p"`, `{"image": "a:1", "runArgs": ["-p", "127.0.0.1:99999:80"]}`,
		`{"image": "a:1", "runArgs": ["-p", "[::1]:3000-3001:80-81"]}`},
	{"port too high in Compose", `error SBX316 "3000:80000"`, service + "    ports: [\"3000:80000\"]\n",
		service + "    ports: [\"127.0.0.1::65535\"]\n"},
	{"name of a service's container", `error SBX316 my app`, service + "    container_name: my app\n",
		service + "    container_name: my-app_1.x\n"},
	{"place of a service's mount", `error SBX316 ..:work`, "services:\n  app:\n    image: x/y:1\n    volumes: [\n      ..:work]\n",
		"services:\n  app:\n    image: x/y:1\n    volumes: [\"..:/w\", \"${HOME}/a:${PLACE}\"]\n"},
	{"volumes of no service", `error SBX316 data`, service + "    volumes_from: [\n      data]\n",
		service + "    volumes_from: [\"container:data\", \"db:ro\"]\n  db: {image: \"x/y:1\"}\n"},
	{"tmpfs with a source", `error SBX310 "type`, `{"image": "a:1", "mounts": ["type=tmpfs,source=x,target=/x"]}`,
		`{"image": "a:1", "mounts": ["type=tmpfs,target=/x,tmpfs-size=64m"]}`},
	{"name of a volume", `error SBX310 {`, `{"image": "a:1", "mounts": [{"type": "volume", "source": "my cache", "target": "/x"}]}`,
		`{"image": "a:1", "mounts": [{"type": "volume", "source": "${localWorkspaceFolderBasename}-${devcontainerId}.x", "target": "/x"}]}`},
	{"option of the build", `error SBX321 "--no-cahe"`, `{"build": {"dockerfile": "Dockerfile", "options": ["--no-cahe"]}}` +
		"\n-- .devcontainer/Dockerfile --\nFROM debian:12\n", `{"build": {"dockerfile": "Dockerfile", "options": ["--no-cache"]}}` +
		"\n-- .devcontainer/Dockerfile --\nFROM debian:12\n"},
	// The last pattern that matches counts.
	{"exception in front of its pattern", `error SBX742 docs/a.md`, `{"build": {"dockerfile": "Dockerfile", "context": ".."}}` + ignored +
		"!docs/a.md\ndocs\n", `{"build": {"dockerfile": "Dockerfile", "context": ".."}}` + ignored + "docs\n!docs/a.md\n"},
	// Scripts of the project's Features, which root runs on the image.
	{"apk in a Feature on Debian", `error SBX749 apk`, scripted("debian:12", "set -e\napk add jq"),
		scripted("debian:12", "if command -v apk; then apk add jq; fi")},
	{"apk in a Feature on Alpine", `SBX749`, "", scripted("alpine:3.22", "apk add jq")},
	{"sudo in a Feature", `error SBX749 sudo`, scripted("debian:12", "set -e\nsudo mkdir -p /opt/x\ntrue"),
		scripted("debian:12", "set -e\napt-get update\napt-get install -y sudo\nsudo mkdir -p /opt/x")},
	{"sudo in a Feature where others run it", `SBX749`, "",
		scripted("debian:12", "as_root() { if [ \"$(id -u)\" = 0 ]; then \"$@\"; else sudo \"$@\"; fi; }\nas_root mkdir -p /opt/x")},
	{"program that a Feature lacks", `error SBX749 curl`, scripted("debian:12", "set -e\ncurl -fsSLO https://x.test/a\ntrue"),
		scripted("debian:12", "set -e\napt-get update && apt-get install -y curl\ncurl -fsSLO https://x.test/a\ntrue")},
	{"program of another Feature", `SBX749`, "", strings.Replace(scripted("debian:12", "set -e\ncurl -fsSLO https://x.test/a"),
		`"./tool": {}`, `"./tool": {}, "ghcr.io/devcontainers/features/common-utils:2": {}`, 1)},
	{"file that a Feature lacks", `error SBX311 bin/hello`, scripted("debian:12", "set -e\ncp bin/hello /usr/bin/hello\ntrue"),
		scripted("debian:12", "set -e\ncp bin/hello /usr/bin/hello\ntrue") + "-- .devcontainer/tool/bin/hello --\n"},
	{"file that a Feature makes", `SBX311`, "", scripted("debian:12", "set -e\ncurl -o a https://x.test/a\ncp a /usr/bin/a")},
	{"order of Features without ./", `error SBX325 "tool"`, strings.Replace(scripted("debian:12", "true"), `"features"`,
		`"overrideFeatureInstallOrder": [`+"\n"+`"tool"], "features"`, 1), strings.Replace(scripted("debian:12", "true"), `"features"`,
		`"overrideFeatureInstallOrder": ["./tool"], "features"`, 1)},
	{"test of an option as the last command", `warning SBX913 [ "$LOUD"`, optional("false", "echo hi\n[ \"$LOUD\" = true ] && echo HI"),
		optional("true", "echo hi\n[ \"$LOUD\" = true ] && echo HI")},
	{"test of an option in the middle", `SBX913`, "", optional("false", "[ \"$LOUD\" = true ] && echo HI\necho hi")},
	{"test of an option with another way", `SBX913`, "", optional("false", "[ \"$LOUD\" = true ] && echo HI || true")},
	{"test of an option that the script sets", `SBX913`, "", optional("false", "LOUD=true\n[ \"$LOUD\" = true ] && echo HI")},
	// Programs that start scripts.
	{"interpreter of a hook's script", `error SBX749 #!/usr/bin/env zsh`, imaged("debian:12", `, "postCreateCommand": "./a.sh"`) +
		"\n-- a.sh --\n#!/usr/bin/env zsh\n", imaged("debian:12", `, "postCreateCommand": "./a.sh"`) + "\n-- a.sh --\n#!/bin/bash\n"},
	{"first process with the line ends of Windows", `error SBX753 #!/bin/sh`, ownCommand + "COPY run.sh /\nENTRYPOINT [\"/run.sh\"]\n" +
		"-- .devcontainer/run.sh --\n#!/bin/sh\r\nexec sleep 9\n", ownCommand + "COPY run.sh /\nENTRYPOINT [\"/run.sh\"]\n" +
		"-- .devcontainer/run.sh --\n#!/bin/sh\nexec sleep 9\n"},
	{"first process that the CLI replaces", `SBX753`, "", strings.Replace(ownCommand, "false", "true", 1) +
		"COPY run.sh /\nENTRYPOINT [\"/run.sh\"]\n-- .devcontainer/run.sh --\n#!/bin/sh\r\nexec sleep 9\n"},
	{"group docker", `error SBX703 docker`, "FROM debian:12\nRUN useradd -m dev && usermod -aG docker dev\n",
		"FROM debian:12\nRUN groupadd -f docker && useradd -m dev && usermod -aG docker dev\n"},
	{"group docker of a package", `SBX703`, "", "FROM debian:12\nRUN apt-get update && apt-get install -y docker.io\n" +
		"RUN useradd -m dev && usermod -aG sudo,docker dev\n"},
	// Variables.
	{"PATH of the container too early", `error SBX308 "/opt`, imaged("debian:12",
		`, "containerEnv": {"PATH": "/opt/bin:${containerEnv:PATH}"}`), imaged("debian:12",
		`, "remoteEnv": {"PATH": "/opt/bin:${containerEnv:PATH}"}`)},
	{"export in a file of variables", `error SBX321 "--env-file"`, imaged("debian:12", `, "runArgs": ["--env-file", "a.env"]`) +
		"\n-- a.env --\n# of the project\n\nA=b c\nexport B=c\n", imaged("debian:12", `, "runArgs": ["--env-file", "a.env"]`) +
		"\n-- a.env --\n# of the project\n\nA=b c\nB\n"},
	{"service behind a profile", `error SBX316 db]`, service + "    depends_on: [\n      db]\n" +
		"  db: {image: \"x/y:1\", profiles: [extra]}\n", service + "    depends_on: {db: {condition: service_started, required: false}}\n" +
		"  db: {image: \"x/y:1\", profiles: [extra]}\n"},
	{"service behind a profile that .env chooses", `SBX316`, "", service + "    depends_on: [db]\n" +
		"  db: {image: \"x/y:1\", profiles: [extra]}\n-- .devcontainer/.env --\nCOMPOSE_PROFILES=extra\n"},
	{"empty password in a file", `error SBX331 POSTGRES_PASSWORD=`, service + "  db: {image: \"postgres:17\", env_file: .env}\n" +
		"-- .devcontainer/.env --\nPOSTGRES_USER=a\nPOSTGRES_PASSWORD=\n", service + "  db: {image: \"postgres:17\", env_file: .env}\n" +
		"-- .devcontainer/.env --\nPOSTGRES_USER=a\nPOSTGRES_PASSWORD=a\n"},
	{"method of PostgreSQL that asks for a password", `error SBX331 db`, service +
		"  db: {image: \"postgres:17\", environment: {POSTGRES_HOST_AUTH_METHOD: md5}}\n", service +
		"  db: {image: \"postgres:17\", environment: {POSTGRES_HOST_AUTH_METHOD: trust}}\n"},
	{"empty password that initializeCommand fills in", `SBX331`, "", composedAt("/w", `, "initializeCommand": "sh .devcontainer/fill.sh"`) +
		service + "  db: {image: \"postgres:17\", env_file: .env}\n-- .devcontainer/.env --\nPOSTGRES_PASSWORD=\n" +
		"-- .devcontainer/fill.sh --\n"},
	{"password that the host must have", `SBX331`, "", service +
		"  db: {image: \"postgres:17\", environment: {POSTGRES_PASSWORD: \"${POSTGRES_PASSWORD:?}\"}}\n"},
	// What people reported of their own files.
	{"script below the container's root", `error SBX318 "/.devcontainer`, imaged("debian:12",
		`, "postCreateCommand": "/.devcontainer/a.sh"`) + "\n-- .devcontainer/a.sh --\ntrue\n", imaged("debian:12",
		`, "postCreateCommand": "sh .devcontainer/a.sh"`) + "\n-- .devcontainer/a.sh --\ntrue\n"},
	{"script below the container's root for a shell", `error SBX318 "bash`, imaged("debian:12",
		`, "postCreateCommand": "bash /.devcontainer/a.sh"`) + "\n-- .devcontainer/a.sh --\ntrue\n", imaged("debian:12",
		`, "mounts": ["type=bind,source=${localWorkspaceFolder}/.devcontainer,target=/.devcontainer"], `+
			`"postCreateCommand": "bash /.devcontainer/a.sh"`) + "\n-- .devcontainer/a.sh --\ntrue\n"},
	{"script that the image has", `SBX318`, "", buildingWith(`, "postCreateCommand": "/.devcontainer/a.sh"`) +
		"FROM debian:12\nCOPY a.sh /.devcontainer/\n-- .devcontainer/a.sh --\ntrue\n"},
	{"global install of npm in a hook", `error SBX751 "npm`, imaged("node:22-bookworm",
		`, "remoteUser": "node", "postCreateCommand": "npm install -g pnpm"`), imaged("node:22-bookworm",
		`, "remoteUser": "node", "postCreateCommand": "sudo npm install -g pnpm"`)},
	{"global install of npm for root", `SBX751`, "", imaged("node:22-bookworm", `, "postCreateCommand": "npm install -g pnpm"`)},
	{"global install of npm in a folder of the user's", `SBX751`, "",
		buildingWith(`, "remoteUser": "node", "postCreateCommand": "npm i -g pnpm"`) +
			"FROM node:22-bookworm\nENV NPM_CONFIG_PREFIX=/home/node/.npm\n"},
	{"global install of npm into what is given away", `SBX751`, "",
		buildingWith(`, "remoteUser": "node", "postCreateCommand": "npm i -g pnpm"`) +
			"FROM node:22-bookworm\nRUN chown -R node /usr/local/lib/node_modules /usr/local/bin\n"},
	{"install in the WORKDIR of root", `error SBX751 npm`, "FROM node:22-bookworm\nWORKDIR /opt/a\nCOPY package.json ./\nUSER node\n" +
		"RUN npm install\n-- .devcontainer/package.json --\n{}\n",
		"FROM node:22-bookworm\nWORKDIR /opt/a\nRUN chown node .\nCOPY package.json ./\n" +
			"USER node\nRUN npm install\n-- .devcontainer/package.json --\n{}\n"},
	{"install in a WORKDIR of the user's", `SBX751`, "", "FROM node:22-bookworm\nUSER node\nWORKDIR /opt/a\nCOPY package.json ./\n" +
		"RUN npm ci\n-- .devcontainer/package.json --\n{}\n"},
	{"install in the user's home", `SBX751`, "", "FROM node:22-bookworm\nWORKDIR /home/node\nCOPY package.json ./\nUSER node\n" +
		"RUN npm ci\n-- .devcontainer/package.json --\n{}\n"},
	{"variable of a hook that computes it", `warning SBX734 "export`, imaged("debian:12",
		`, "postCreateCommand": "export DATA=$(pwd)/data"`), imaged("debian:12",
		`, "postCreateCommand": "echo \"export DATA=$(pwd)/data\" >> ~/.bashrc"`)},
	{"version of nvm for a hook", `warning SBX734 ". /usr`, imaged("debian:12",
		`, "postCreateCommand": ". /usr/local/share/nvm/nvm.sh && nvm use 22"`), imaged("debian:12",
		`, "postCreateCommand": ". /usr/local/share/nvm/nvm.sh && nvm use 22 && npm ls"`)},
	{"slash for the colon of an image", `warning SBX322 "php/7.3-apache"`, `{"image": "php/7.3-apache"}`, `{"image": "php:7.3-apache"}`},
	{"image of a namespace", `SBX322`, "", `{"image": "node/22"}`},
	{"shell of a health check", `warning SBX314 [`, service + "    healthcheck: {test: [CMD-SHELL, psql, -U, postgres]}\n",
		service + "    healthcheck: {test: [CMD, psql, -U, postgres]}\n"},
	{"line of a health check", `warning SBX314 [`, service + "    healthcheck: {test: [CMD, \"curl -f x.test\"]}\n",
		service + "    healthcheck: {test: [CMD-SHELL, \"curl -f x.test\"]}\n"},
	{"interpreter that starts a service", `error SBX326 sleep`, kept + "    command: sleep infinity\n-- .devcontainer/Dockerfile --\n" +
		"FROM python:3.13\nENTRYPOINT [\"python\"]\n", kept + "    entrypoint: sleep infinity\n-- .devcontainer/Dockerfile --\n" +
		"FROM python:3.13\nENTRYPOINT [\"python\"]\n"},
	{"script that starts a service", `SBX326`, "", kept + "    command: sleep infinity\n-- .devcontainer/Dockerfile --\n" +
		"FROM python:3.13\nENTRYPOINT [\"python\", \"run.py\"]\n"},
	{"PATH below root's home", `warning SBX327 `, buildingWith(`, "remoteUser": "dev"`) +
		"FROM debian:12\nRUN useradd -m dev\nENV PATH=$PATH:/root/.local/bin\n", buildingWith(`, "remoteUser": "dev"`) +
		"FROM debian:12\nRUN useradd -m dev && chmod 755 /root\nENV PATH=$PATH:/root/.local/bin\n"},
	{"PATH below root's home for root", `SBX327`, "", buildingWith("") + "FROM debian:12\nENV PATH=$PATH:/root/.local/bin\nUSER root\n"},
	{"service with another letter", `warning SBX332 databse`, composedAt("/w", "") + service + "    environment: {DB_HOST: databse}\n" +
		strings.Replace(databaseService, "db:", "database:", 1), composedAt("/w", "") + service +
		"    environment: {DB_HOST: database}\n" + strings.Replace(databaseService, "db:", "database:", 1)},
	{"service by its hostname", `SBX332`, "", composedAt("/w", "") + service + "    environment: {DB_HOST: databse}\n" +
		strings.Replace(databaseService, "db:", "database:", 1) + "    hostname: databse\n"},
	{"server elsewhere", `SBX332`, "", composedAt("/w", "") + service + "    environment: {DB_HOST: staging}\n" + databaseService},
	{"database that runServices leaves out", `warning SBX332 ["app"]`, composedAt("/w", `, "runServices": ["app"]`) + service +
		"    environment: {DATABASE_URL: \"postgres://postgres:x@db:5432/c\"}\n" + databaseService, composedAt("/w", `, "runServices": ["app"]`) +
		service + "    environment: {DATABASE_URL: \"postgres://postgres:x@db:5432/c\"}\n    depends_on: [db]\n" + databaseService},
	{"list of packages that another names", `error SBX753 /tmp/a.txt`, buildingWith("") + "FROM python:3.13\nCOPY a.txt /tmp/\n" +
		"RUN pip install -r /tmp/a.txt\n-- .devcontainer/a.txt --\n-r b.txt\n-- .devcontainer/b.txt --\n", buildingWith("") +
		"FROM python:3.13\nCOPY a.txt b.txt /tmp/\nRUN pip install -r /tmp/a.txt\n" +
		"-- .devcontainer/a.txt --\n-r b.txt\n-- .devcontainer/b.txt --\n"},
	{"list of packages in a folder", `SBX753`, "", buildingWith("") + "FROM python:3.13\nCOPY lists /tmp/\nCOPY a.txt /tmp/\n" +
		"RUN pip install -r /tmp/a.txt\n-- .devcontainer/a.txt --\n-r b.txt\n-- .devcontainer/lists/b.txt --\n"},
	{"packages of an archived release", `warning SBX752 apt-get`,
		"FROM python:3.7-slim-buster\nRUN apt-get update && apt-get install -y git\n",
		"FROM python:3.7-slim-bullseye\nRUN apt-get update && apt-get install -y git\n"},
	{"packages of the archive", `SBX752`, "",
		"FROM debian:10\nRUN sed -i s/deb.debian/archive.debian/ /etc/apt/sources.list && apt-get update\n"},
}

// buildingWith is a configuration that builds .devcontainer/Dockerfile, of which the text follows.
func buildingWith(more string) string {
	return `{"build": {"dockerfile": "Dockerfile"}` + more + "}\n-- .devcontainer/Dockerfile --\n"
}

// kept is a service that builds .devcontainer/Dockerfile.
var kept = composedAt("/w", "") + "services:\n  app:\n    build: .\n    volumes: [\"..:/w\"]\n"

// scripted is a configuration with a Feature of the project, and the text of its install.sh.
func scripted(image, script string) string {
	return installed(image, "#!/bin/sh\n"+script, "")
}

// optional is a configuration with a Feature of the project that has the option loud.
func optional(fallback, script string) string {
	whole := strings.TrimSuffix(scripted("debian:12", script), "echo hi\n") // the script ends with its own last line
	return strings.Replace(whole, `"version": "1.0.0"`,
		`"version": "1.0.0", "options": {"loud": {"type": "boolean", "default": `+fallback+`}}`, 1)
}

func TestFreshProjects(t *testing.T) { testPairs(t, writtenFresh) }

// Whether a script may be executed only a disk says.
func TestScriptsOfComposeAreExecutable(t *testing.T) {
	root := t.TempDir()
	for name, text := range (written{files: composedAt("/w", `, "postCreateCommand": "./setup.sh"`) + service +
		"-- setup.sh --\ntrue\n"}).tree() {
		full := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []os.FileMode{0o644, 0o755} {
		if err := os.Chmod(filepath.Join(root, "setup.sh"), mode); err != nil {
			t.Fatal(err)
		}
		found := 0
		err := devcontainer.Open(filepath.Join(root, ".devcontainer", "devcontainer.json"), func(p *devcontainer.Project) error {
			for _, f := range lint.Check(p) {
				if f.Rule == "SBX318" {
					found++
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if (found == 1) != (mode == 0o644) {
			t.Errorf("%o: %d findings", mode, found)
		}
	}
}

func TestBackslashesOfWindowsAreNamed(t *testing.T) {
	project := written{files: `{"build": {"dockerfile": "..\\a.Dockerfile"}}` + "\n-- a.Dockerfile --\nFROM debian:12\n"}
	for _, f := range judge(t, project.tree()) {
		if f.Rule == "SBX311" && f.Hint == "only Windows takes backslashes: write ../a.Dockerfile" {
			return
		}
	}
	t.Error("not found")
}
