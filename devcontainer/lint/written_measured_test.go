package lint_test

import "testing"

// writtenMeasured are mistakes that projects of strangers had and that went unnoticed, and what stands next to each.
var writtenMeasured = []pair{
	// What a script writes outside of the project brings no script of the project.
	{"script behind one that writes into the home folder", `error SBX318 ".dev`,
		imaged("debian:13", `, "postCreateCommand": ".devcontainer/a.sh && .devcontainer/b.sh"`) +
			"\n-- .devcontainer/a.sh --\n#!/bin/sh\nif [ -n \"$DOTS\" ]; then\n\tgit clone --depth 1 \"$DOTS\" \"$HOME/.dots\"\nfi\n" +
			"mkdir -p ~/.config/nvim\ncp -n .devcontainer/rc \"$HOME/.rc\" || true\necho a >> ~/.bashrc\n-- .devcontainer/rc --\n",
		imaged("debian:13", `, "postCreateCommand": ".devcontainer/a.sh && .devcontainer/b.sh"`) +
			"\n-- .devcontainer/a.sh --\n#!/bin/sh\ncp .devcontainer/rc .devcontainer/b.sh\n-- .devcontainer/rc --\n"},
	{"script behind a line for a start file", `error SBX318 "echo`,
		imaged("debian:13", `, "postCreateCommand": "echo a >> ~/.bashrc && bash b.sh"`) + readme + packageJSON,
		imaged("debian:13", `, "postCreateCommand": "echo a >> b.sh && bash b.sh"`) + readme + packageJSON},
	{"script behind an archive for another folder", `error SBX318 "mkdir`,
		imaged("debian:13", `, "postCreateCommand": "mkdir /tmp/a && tar -c -f /tmp/a/b.tar README.md && tar -x -f /tmp/a/b.tar -C /tmp/a && `+
			`bash b.sh"`) + readme + packageJSON,
		imaged("debian:13", `, "postCreateCommand": "tar -x -f a.tar && bash b.sh"`) + readme + packageJSON + "-- a.tar --\n"},
	{"script in a folder that is not there", `error SBX318 "./scripts`,
		imaged("debian:13", `, "postCreateCommand": "./scripts/setup.sh"`) + readme + packageJSON,
		imaged("debian:13", `, "postCreateCommand": "./scripts/setup.sh"`) + readme + packageJSON + "-- scripts/setup.sh --\n#!/bin/sh\n"},
	{"script in the folder of a submodule", `SBX318`, "",
		imaged("debian:13", `, "postCreateCommand": "./scripts/setup.sh"`) + readme + packageJSON + "-- .gitmodules --\n"},
	// Arrays.
	{"lines in an array, the first with a path", `warning SBX314 [`,
		imaged("debian:13", `, "postCreateCommand": ["mkdir -p ~/.npm-global", "npm config set prefix x"]`),
		imaged("debian:13", `, "postCreateCommand": ["/opt/My Tools/run", "a b"]`)},
	{"two lines for a shell in an array", `warning SBX314 "bash", "-c", "ln`,
		imaged("debian:13", `, "postStartCommand": ["bash", "-c", "mkdir -p /a",`+"\n"+`"bash", "-c", "ln -s /a /b"]`),
		imaged("debian:13", `, "postStartCommand": ["bash", "-c", "exec \"$0\" \"$@\"", "bash", "-c", "ln -s /a /b"]`)},
	// Names.
	{"user of the image for all languages", `warning SBX703 "vscode"`,
		imaged("mcr.microsoft.com/devcontainers/universal:2", `, "remoteUser": "vscode"`),
		imaged("mcr.microsoft.com/devcontainers/universal:2", `, "remoteUser": "codespace"`)},
	{"release misspelt in a tag", `error SBX755 python`, "FROM python:3.12-slim-bookwork\n", "FROM python:3.12-slim-bookworm\n"},
	{"words of a tag in the other order", `error SBX755 node`, "FROM node:22-slim-bookworm\n", "FROM node:22-bookworm-slim\n"},
	{"words of a tag in the order of another image", `error SBX755 python`, "FROM python:3.12-bookworm-slim\n",
		"FROM python:3.12-slim-bookworm\n"},
	{"slim image that is none", `error SBX755 golang`, "FROM golang:1.24-slim-bookworm\n", "FROM golang:1.24-bookworm\n"},
	{"number of the user of an image on Ubuntu", `error SBX750 groupadd`, "FROM ros:jazzy\nRUN groupadd --gid 1000 dev\n",
		"FROM ros:humble\nRUN groupadd --gid 1000 dev\n"},
	{"ARG of another stage, on an image for dev containers", `warning SBX730 ${TOOL}`,
		"FROM debian:13 AS a\nARG TOOL=1\nRUN echo ${TOOL} > /a\nFROM mcr.microsoft.com/devcontainers/base:bookworm\n" +
			"COPY --from=a /a /a\nRUN echo ${TOOL}\n",
		"FROM debian:13 AS a\nARG TOOL=1\nRUN echo ${TOOL} > /a\nFROM mcr.microsoft.com/devcontainers/base:bookworm\n" +
			"COPY --from=a /a /a\nARG TOOL=1\nRUN echo ${TOOL}\n"},
	{"lists of packages in a stage that is not kept", `SBX723`, "",
		"FROM debian:12 AS a\nRUN apt-get update && apt-get install -y curl\nFROM debian:12\nCOPY --from=a /usr/bin/curl /a\n"},
	{"folder of a Feature without ./", `error SBX325 "features/a"`,
		imaged("debian:13", `,`+"\n"+`"features": {"features/a": {}}`) + "\n-- .devcontainer/features/a/devcontainer-feature.json --\n" +
			`{"id": "a", "version": "1.0.0"}` + "\n-- .devcontainer/features/a/install.sh --\ntrue\n",
		imaged("debian:13", `,`+"\n"+`"features": {"./features/a": {}}`) + "\n-- .devcontainer/features/a/devcontainer-feature.json --\n" +
			`{"id": "a", "version": "1.0.0"}` + "\n-- .devcontainer/features/a/install.sh --\ntrue\n"},
	{"user whom an image for ROS lacks", `warning SBX703 "rosdev"`,
		`{"build": {"dockerfile": "Dockerfile"}, "remoteUser":` + "\n" + `"rosdev"}` + "\n-- .devcontainer/Dockerfile --\n" +
			"FROM ros:humble\nARG NAME=ros\nRUN useradd --create-home $NAME\n",
		`{"build": {"dockerfile": "Dockerfile"}, "remoteUser":` + "\n" + `"ros"}` + "\n-- .devcontainer/Dockerfile --\n" +
			"FROM ros:humble\nARG NAME=ros\nRUN useradd --create-home $NAME\n"},
	{"user whom an image of Jupyter lacks", `warning SBX703 "jupyter"`,
		imaged("quay.io/jupyter/scipy-notebook:2024-10-07", `, "remoteUser": "jupyter"`),
		imaged("quay.io/jupyter/scipy-notebook:2024-10-07", `, "remoteUser": "jovyan"`)},
	{"setting beside the extensions", `warning SBX324 "files.eol`,
		imaged("debian:13", `, "customizations": {"vscode": {`+"\n"+`"files.eol": "\n"}}`),
		imaged("debian:13", `, "customizations": {"vscode": {"settings": {"files.eol": "\n"}}}`)},
	{"order after a Feature that is none", `warning SBX325 "ghcr.io/devcontainers/features/nodejs"`,
		imaged("debian:13", `, "features": {"./a": {}}`) + "\n-- .devcontainer/a/install.sh --\ntrue\n" +
			"-- .devcontainer/a/devcontainer-feature.json --\n" +
			`{"id": "a", "version": "1.0.0", "installsAfter": ["ghcr.io/devcontainers/features/nodejs"]}` + "\n",
		imaged("debian:13", `, "features": {"./a": {}}`) + "\n-- .devcontainer/a/install.sh --\ntrue\n" +
			"-- .devcontainer/a/devcontainer-feature.json --\n" +
			`{"id": "a", "version": "1.0.0", "installsAfter": ["ghcr.io/devcontainers/features/node"]}` + "\n"},
	{"other words in a tag", `SBX755`, "", "FROM node:lts-iron\nFROM php:8.3-apache\nFROM golang:tip\nFROM node:current-slim\n"},
	// Ports and mounts.
	{"port of the container alone", `warning SBX411 "-p=4321"`, imaged("debian:13", `, "runArgs": ["-p=4321"]`),
		imaged("debian:13", `, "runArgs": ["-p=127.0.0.1:4321:4321"]`)},
	{"volume for the scripts of a database", `warning SBX333 initdb:`,
		composedApp + pythonApp + databaseService + "    volumes:\n      - initdb:/docker-entrypoint-initdb.d\nvolumes:\n  initdb:\n",
		composedApp + pythonApp + databaseService + "    volumes:\n      - ./initdb:/docker-entrypoint-initdb.d\n" +
			"-- .devcontainer/initdb/a.sql --\n"},
	{"volume that another machine fills, for the scripts of a database", `SBX333`, "",
		composedApp + pythonApp + databaseService + "    volumes:\n      - initdb:/docker-entrypoint-initdb.d\n" +
			"volumes:\n  initdb:\n    driver_opts: {type: none, device: /srv/a, o: bind}\n"},
	{"volume for the project, whose list a hook wants", `warning SBX317 a:/w`,
		composedAt("/w", `, "postCreateCommand": "pip install -r requirements.txt"`) + "services:\n  app:\n    image: python:3.13\n" +
			"    command: sleep infinity\n    volumes:\n      - a:/w\nvolumes:\n  a:\n-- requirements.txt --\n",
		composedAt("/w", `, "postCreateCommand": "git clone URL . && pip install -r requirements.txt"`) + "services:\n  app:\n" +
			"    image: python:3.13\n    command: sleep infinity\n    volumes:\n      - a:/w\nvolumes:\n  a:\n-- requirements.txt --\n"},
	// Where the project is.
	{"folder of the project's name in the project", `warning SBX317 "/workspaces`,
		composedAt("/workspaces/${localWorkspaceFolderBasename}", "") + "services:\n  app:\n    image: debian:13\n" +
			"    command: sleep infinity\n    volumes:\n      - ..:/workspaces:cached\n",
		composedAt("/workspaces/${localWorkspaceFolderBasename}", "") + "services:\n  app:\n    image: debian:13\n" +
			"    command: sleep infinity\n    volumes:\n      - ../..:/workspaces:cached\n"},
	{"folder beside the mount of all projects", `warning SBX317 "/workspace"`,
		composedAt("/workspace", "") + "services:\n  app:\n    image: debian:13\n    command: sleep infinity\n" +
			"    volumes:\n      - ../..:/workspaces:cached\n",
		composedAt("/workspaces/a", "") + "services:\n  app:\n    image: debian:13\n    command: sleep infinity\n" +
			"    volumes:\n      - ../..:/workspaces:cached\n"},
	// Services.
	{"command behind a line for a shell", `error SBX326 ["/bin/sh"`,
		composedAt("/w", "") + "services:\n  app:\n    image: python:3.12\n    volumes: [\"..:/w\"]\n" +
			"    entrypoint: [\"/bin/sh\", \"-c\", \"pip install -r requirements.txt\"]\n    command: [\"sleep\", \"infinity\"]\n",
		composedAt("/w", "") + "services:\n  app:\n    image: python:3.12\n    volumes: [\"..:/w\"]\n" +
			"    entrypoint: [\"/bin/sh\", \"-c\", \"pip --version; exec \\\"$$0\\\" \\\"$$@\\\"\"]\n    command: [\"sleep\", \"infinity\"]\n"},
	{"service that only builds", `error SBX326 colcon`,
		composedAt("/w", "") + "services:\n  app:\n    image: debian:13\n    volumes: [\"..:/w\"]\n    command: colcon build --symlink-install\n",
		composedAt("/w", "") + "services:\n  app:\n    image: debian:13\n    volumes: [\"..:/w\"]\n" +
			"    command: sh -c 'colcon build; sleep infinity'\n"},
}

func TestWrittenMeasured(t *testing.T) { testPairs(t, writtenMeasured) }
