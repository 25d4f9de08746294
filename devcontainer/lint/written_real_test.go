package lint_test

// imaged is a configuration of an image, with more behind it.
func imaged(name, rest string) string { return `{"image": "` + name + `"` + rest + `}` }

const (
	readme      = "\n-- README.md --\n"
	packageJSON = "\n-- package.json --\n" + `{"name": "x", "scripts": {"build": "tsc", "dev": "vite"}}` + "\n"
	makefile    = "\n-- Makefile --\nall: build\nbuild test:\n\tgo build ./...\n"
	nodeHere    = "services:\n  app:\n    image: node:24\n    volumes: [\"..:/w\"]\n"
)

// writtenReal are mistakes that people ask about in public threads about Dockerfiles, Compose and dev containers.
var writtenReal = []written{
	// A shell that is not the author's.
	{"brackets of bash in a step", `SBX748 [[`, "FROM debian:12\nRUN [[ -f /etc/motd ]] && rm /etc/motd\n"},
	{"brackets of bash in a condition", `SBX748 [[`, "FROM ubuntu:24.04\nRUN if [[ \"$A\" == \"b\" ]]; then echo hi; fi\n"},
	{"source in a step", `SBX748 source`, "FROM python:3.13\nRUN python -m venv /v && source /v/bin/activate && pip install x\n"},
	{"pushd in a step", `SBX748 pushd`, "FROM debian:12\nRUN pushd /usr && ls && popd\n"},
	{"array in a step", `SBX748 `, "FROM debian:12\nRUN a=(1 2); echo ${a[0]}\n"},
	{"function with its word", `SBX748 {`, "FROM debian:12\nRUN function f { echo hi; }; f\n"},
	{"pipefail in a plain shell", `SBX748 pipefail`, "FROM debian:12\nRUN set -o pipefail && curl -f https://x.test/a | tar xz\n"},
	{"here-string in a step", `SBX748 `, "FROM debian:12\nRUN cat <<< hi\n"},
	{"process in the place of a file", `SBX748 `, "FROM debian:12\nRUN diff <(ls /a) <(ls /b)\n"},
	{"two equals signs in a test", `SBX748 `, "FROM debian:12\nARG A=b\nRUN [ \"$A\" == \"b\" ] && make\n"},
	{"part of a variable", `SBX748 `, "FROM debian:12\nARG V=v1.2\nRUN echo ${V:1:3}\n"},
	{"variable with a replacement", `SBX748 `, "FROM debian:12\nARG V=v1.2\nRUN echo ${V//./-}\n"},
	{"pipefail in a hook", `SBX319 "set`, `{"image": "debian:12", "postCreateCommand": "set -euo pipefail; make"}` + makefile},
	{"nvm in a step", `SBX749 nvm`, "FROM debian:12\nRUN nvm install 20\n"},
	{"nvm in a hook", `SBX749 "nvm`,
		imaged("mcr.microsoft.com/devcontainers/typescript-node:22", `, "postCreateCommand": "nvm install && npm ci"`) +
			"\n-- package.json --\n{}\n-- package-lock.json --\n{}\n"},
	{"conda activate in a step", `SBX749 conda`,
		"FROM continuumio/miniconda3:24.1.2-0\nRUN conda create -n x python=3.12 && conda activate x && pip install y\n"},
	{"sdk in a hook", `SBX749 "sdk`, imaged("mcr.microsoft.com/devcontainers/java:21", `, "postCreateCommand": "sdk install maven"`)},
	// Programs that the image lacks.
	{"apk on Debian", `SBX749 apk`, "FROM node:24\nRUN apk add --no-cache git\n"},
	{"apt-get on Alpine", `SBX749 apt-get`, "FROM node:24-alpine\nRUN apt-get update && apt-get install -y git\n"},
	{"yum on Debian", `SBX749 yum`, "FROM python:3.13-slim\nRUN yum install -y git\n"},
	{"apt-get on Fedora", `SBX749 apt-get`, "FROM fedora:42\nRUN apt-get update && apt-get install -y git\n"},
	{"apt-get on Rocky", `SBX749 apt-get`, "FROM rockylinux:9\nRUN apt-get update && apt-get install -y git\n"},
	{"curl on slim", `SBX749 curl`, "FROM node:24-slim\nRUN curl -fsSL https://x.test/a -o /a\n"},
	{"curl piped on slim", `SBX749 curl`, "FROM debian:12-slim\nRUN curl -fsSL https://deb.nodesource.com/setup_22.x | bash -\n"},
	{"git on slim", `SBX749 git`, "FROM python:3.13-slim\nRUN git clone https://x.test/a /a\n"},
	{"git behind another package", `SBX749 git`,
		"FROM debian:12\nRUN apt-get update && apt-get install -y --no-install-recommends ca-certificates curl\n" +
			"RUN git clone https://x.test/a /a\n"},
	{"wget on Debian", `SBX749 wget`, "FROM debian:12\nRUN wget https://x.test/a\n"},
	{"unzip that is not installed", `SBX749 unzip`,
		"FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y curl && curl -o a.zip https://x.test/a.zip && unzip a.zip\n"},
	{"gcc on slim", `SBX749 gcc`, "FROM python:3.13-slim\nRUN gcc --version\n"},
	{"make on Alpine", `SBX749 make`, "FROM golang:1.24-alpine\nWORKDIR /src\nRUN make\n"},
	{"bash on Alpine", `SBX749 bash`, "FROM alpine:3.22\nRUN bash -c 'echo hi'\n"},
	{"bash as SHELL on Alpine", `SBX749 SHELL`, "FROM alpine:3.22\nSHELL [\"/bin/bash\", \"-c\"]\nRUN echo hi\n"},
	{"useradd on Alpine", `SBX749 useradd`, "FROM alpine:3.22\nRUN useradd -m dev\n"},
	{"python where it is python3", `SBX749 python`,
		"FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3 && python --version\n"},
	{"pip without its package", `SBX749 pip`, "FROM debian:12\nRUN apt-get update && apt-get install -y python3 && pip install requests\n"},
	{"node on Python's image", `SBX749 npm`, "FROM python:3.13\nRUN npm install -g yarn\n"},
	{"jq on an official image", `SBX749 jq`, "FROM node:24\nRUN jq -r .name package.json\n"},
	{"git in a hook on slim", `SBX749 "git`, imaged("node:24-slim", `, "postCreateCommand": "git config --global --add safe.directory /w"`)},
	{"apt-get in a hook on Alpine", `SBX749 "apt-get`, imaged("alpine:3.22", `, "postCreateCommand": "apt-get update"`)},
	{"pip in a hook on Debian", `SBX749 "pip`,
		imaged("debian:12", `, "postCreateCommand": "pip install -r requirements.txt"`) + "\n-- requirements.txt --\n"},
	{"systemctl in a step", `SBX749|SBX734 systemctl`, "FROM debian:12\nRUN systemctl start ssh\n"},
	{"adduser of busybox on Debian", `SBX749 adduser`, "FROM debian:12\nRUN adduser -D dev\n"},
	// Users.
	{"node's user again", `SBX750 useradd`, "FROM node:24\nRUN useradd -m node\n"},
	{"number 1000 on node's image", `SBX750 useradd`, "FROM node:24\nARG USER_UID=1000\nRUN useradd --uid $USER_UID -m dev\n"},
	{"group 1000 on node's image", `SBX750 groupadd`,
		"FROM node:24-slim\nRUN groupadd --gid 1000 dev && useradd --uid 1000 --gid 1000 -m dev\n"},
	{"number 1000 on Ubuntu", `SBX750 groupadd`, "FROM ubuntu:24.04\nARG USERNAME=dev\nARG USER_UID=1000\nARG USER_GID=$USER_UID\n" +
		"RUN groupadd --gid $USER_GID $USERNAME \\\n    && useradd --uid $USER_UID --gid $USER_GID -m $USERNAME\n"},
	{"ubuntu's user again", `SBX750 useradd`, "FROM ubuntu:24.04\nRUN useradd -m ubuntu\n"},
	{"number 1000 on Alpine's node", `SBX750 adduser`, "FROM node:24-alpine\nRUN adduser -D -u 1000 dev\n"},
	{"vscode's user again", `SBX750 useradd`, "FROM mcr.microsoft.com/devcontainers/base:bookworm\nRUN useradd -m -s /bin/bash vscode\n"},
	{"one user twice", `SBX750 useradd`, "FROM debian:12\nRUN useradd -m dev\nRUN useradd -m dev\n"},
	{"install as another user", `SBX751 apt-get`, "FROM node:24\nUSER node\nRUN apt-get update && apt-get install -y jq\n"},
	{"packages as a made user", `SBX751 apk`, "FROM alpine:3.22\nRUN adduser -D dev\nUSER dev\nRUN apk add --no-cache git\n"},
	{"user made by another", `SBX751 useradd`, "FROM node:24\nUSER node\nRUN useradd -m dev\n"},
	{"install in a hook of another user", `SBX751 "apt-get`,
		imaged("node:24", `, "remoteUser": "node", "postCreateCommand": "apt-get update && apt-get install -y jq"`)},
	{"install in a hook of vscode's", `SBX751 "apt-get`,
		imaged("mcr.microsoft.com/devcontainers/base:bookworm", `, "postCreateCommand": "apt-get update && apt-get install -y jq"`)},
	{"global package as node", `SBX751 npm`, "FROM node:24\nUSER node\nRUN npm install -g pnpm\n"},
	// Packages.
	{"pip in a managed system", `SBX752 pip3`,
		"FROM debian:12\nRUN apt-get update && apt-get install -y python3-pip && pip3 install requests\n"},
	{"pip in a managed Ubuntu", `SBX752 pip`,
		"FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3 python3-pip\nCOPY requirements.txt /\n" +
			"RUN pip install -r /requirements.txt\n-- .devcontainer/requirements.txt --\n"},
	{"python in a Debian without it", `SBX752 python`, "FROM debian:12\nRUN apt-get update && apt-get install -y python\n"},
	{"mysql-client on Debian", `SBX752 mysql-client`, "FROM python:3.13-bookworm\nRUN apt-get update && apt-get install -y mysql-client\n"},
	{"netcat on Debian 12", `SBX752 netcat`, "FROM debian:12\nRUN apt-get update && apt-get install -y netcat\n"},
	{"Mesa's old name", `SBX752 libgl1-mesa-glx`, "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y libgl1-mesa-glx\n"},
	{"Java that is too old", `SBX752 openjdk-11-jdk`, "FROM debian:12\nRUN apt-get update && apt-get install -y openjdk-11-jdk\n"},
	// Hooks that call what is not there.
	{"script of npm that is not there", `SBX318 "npm install`,
		imaged("a:1", `, "postCreateCommand": "npm install && npm run setup"`) + packageJSON},
	{"script of npm misspelt", `SBX318 "npm run`, imaged("a:1", `, "postCreateCommand": "npm run biuld"`) + packageJSON},
	{"npm ci without a lock", `SBX318 "npm ci"`, imaged("a:1", `, "postCreateCommand": "npm ci"`) + packageJSON},
	{"npm ci in the wrong folder", `SBX318 "npm ci"`, imaged("a:1", `, "postCreateCommand": "npm ci"`) +
		"\n-- web/package.json --\n{}\n-- web/package-lock.json --\n{}\n"},
	{"target that is not there in a hook", `SBX318 "make`, imaged("a:1", `, "postCreateCommand": "make setup"`) + makefile},
	{"no Makefile", `SBX318 "make`, imaged("a:1", `, "postCreateCommand": "make setup"`) + readme},
	{"folder that is not there", `SBX318 "cd`, imaged("a:1", `, "postCreateCommand": "cd frontend && npm install"`) + packageJSON},
	{"script of Python that is not there", `SBX318 "python`, imaged("a:1", `, "postCreateCommand": "python manage.py migrate"`)},
	{"nothing to install for pip", `SBX318 "pip`, imaged("a:1", `, "postCreateCommand": "pip install -e ."`) + packageJSON},
	{"no Gemfile", `SBX318 "bundle`, imaged("a:1", `, "postCreateCommand": "bundle install"`) + readme},
	{"no composer.json", `SBX318 "composer`, imaged("a:1", `, "postCreateCommand": "composer install"`) + readme},
	{"no go.mod", `SBX318 "go mod`, imaged("a:1", `, "postCreateCommand": "go mod download"`) + "\n-- src/go.mod --\nmodule x\n"},
	{"no pyproject.toml", `SBX318 "poetry`, imaged("a:1", `, "postCreateCommand": "poetry install"`) + readme},
	{"no lock of pnpm", `SBX318 "pnpm`, imaged("a:1", `, "postCreateCommand": "pnpm install --frozen-lockfile"`) +
		"\n-- package.json --\n" + `{"dependencies": {"left-pad": "1.3.0"}}`},
	// Hooks that do not end, or end well once.
	{"server in a hook", `SBX328 "npm`, imaged("a:1", `, "postCreateCommand": "npm install && npm run dev"`) + packageJSON},
	{"server of Django in a hook", `SBX328 "python`,
		imaged("a:1", `, "postStartCommand": "python manage.py runserver"`) + "\n-- manage.py --\n"},
	{"services in a hook", `SBX328 "docker compose up"`, imaged("a:1", `, "postCreateCommand": "docker compose up"`)},
	{"folder made at each start", `SBX329 "mkdir`, imaged("a:1", `, "postStartCommand": "mkdir logs"`)},
	{"network made at each start", `SBX329 "docker`, imaged("a:1", `, "initializeCommand": "docker network create dev"`)},
	{"clone at each start", `SBX329 "git clone`, imaged("a:1", `, "postStartCommand": "git clone https://x.example/a.git"`)},
	// Compose.
	{"relative working_dir", `SBX316 app`, "services:\n  app:\n    image: a:1\n    working_dir: app\n    volumes: [\"..:/w\"]\n"},
	{"host port twice", `SBX316 "3000:4000"`,
		"services:\n  app:\n    image: a:1\n    ports: [\"3000:3000\", \"3000:4000\"]\n    volumes: [\"..:/w\"]\n"},
	{"host port in two services", `SBX316 "8080:80"`,
		"services:\n  app:\n    image: a:1\n    ports: [\"8080:8080\"]\n    volumes: [\"..:/w\"]\n" +
			"  web:\n    image: nginx:1.29\n    ports: [\"8080:80\"]\n"},
	{"ports as a text", `SBX316 `, "services:\n  app:\n    image: a:1\n    ports: 3000:3000\n    volumes: [\"..:/w\"]\n"},
	{"volumes as a text", `SBX316 `, "services:\n  app:\n    image: a:1\n    volumes: ..:/w\n"},
	{"depends_on as a text", `SBX316 `,
		"services:\n  app:\n    image: a:1\n    volumes: [\"..:/w\"]\n    depends_on: db\n  db: {image: postgres:17}\n"},
	{"capabilities as a text", `SBX316 `, "services:\n  app:\n    image: a:1\n    volumes: [\"..:/w\"]\n    cap_add: SYS_PTRACE\n"},
	{"environment as a text", `SBX316 `, "services:\n  app:\n    image: a:1\n    volumes: [\"..:/w\"]\n    environment: A=b\n"},
	{"networks as a list", `SBX316 `, "services:\n  app:\n    image: a:1\n    volumes: [\"..:/w\"]\nnetworks: [back]\n"},
	{"service's keys beside it", `SBX316 `, "services:\n  app:\n  image: a:1\n  volumes: [\"..:/w\"]\n"},
	{"relative volume without a dot", `SBX316 "data/db`, "services:\n  app:\n    image: a:1\n    volumes: [\"..:/w\"]\n" +
		"  db:\n    image: postgres:17\n    volumes: [\"data/db:/var/lib/postgresql/data\"]\n"},
	{"operators in a command", `SBX314 npm`,
		"services:\n  app:\n    image: node:24\n    command: npm install && sleep infinity\n    volumes: [\"..:/w\"]\n"},
	{"health of a service without a check", `SBX316 db`, "services:\n  app:\n    image: a:1\n    volumes: [\"..:/w\"]\n" +
		"    depends_on: {db: {condition: service_healthy}}\n  db: {image: postgres:17}\n"},
	{"secret's file that is not there", `SBX311 ./key.txt`,
		"services:\n  app:\n    image: a:1\n    secrets: [key]\n    volumes: [\"..:/w\"]\n" +
			"secrets:\n  key: {file: ./key.txt}\n"},
	{"file to mount that is not there", `SBX311 "./init.sql`, "services:\n  app:\n    image: a:1\n    volumes: [\"..:/w\"]\n" +
		"  db:\n    image: postgres:17\n    volumes: [\"./init.sql:/docker-entrypoint-initdb.d/init.sql\"]\n"},
	{"seccomp of Compose that is not there", `SBX311 "seccomp:./s.json`,
		"services:\n  app:\n    image: a:1\n    security_opt: [\"seccomp:./s.json\"]\n    volumes: [\"..:/w\"]\n"},
	{"wrong folder in the workspace", `SBX317 `, "services:\n  app:\n    image: a:1\n    command: sleep infinity\n    volumes: [\".:/w\"]\n"},
	{"memory that is none in Compose", `SBX316 4gigs`, "services:\n  app:\n    image: a:1\n    mem_limit: 4gigs\n    volumes: [\"..:/w\"]\n"},
	// devcontainer.json.
	{"version of the tool in a Feature's tag", `SBX325 "ghcr.io/devcontainers/features/node:20"`,
		imaged("a:1", `, "features": {"ghcr.io/devcontainers/features/node:20": {}}`)},
	{"version of Python in a Feature's tag", `SBX325 "ghcr.io/devcontainers/features/python:3.12"`,
		imaged("a:1", `, "features": {"ghcr.io/devcontainers/features/python:3.12": {}}`)},
	{"Feature misspelt", `SBX325 "ghcr.io/devcontainers/features/docker-in-dockr:2"`,
		imaged("a:1", `, "features": {"ghcr.io/devcontainers/features/docker-in-dockr:2": {}}`)},
	{"option of a Feature misspelt", `SBX325 "verison"`,
		imaged("a:1", `, "features": {"ghcr.io/devcontainers/features/node:1": {"verison": "20"}}`)},
	{"seccomp profile that is not there", `SBX311 "seccomp=`,
		imaged("a:1", `, "securityOpt": ["seccomp=${localWorkspaceFolder}/.devcontainer/seccomp.json"]`)},
	{"host port twice in appPort", `SBX321 "127.0.0.1:3000:4000"`,
		imaged("a:1", `, "appPort": ["127.0.0.1:3000:3000", "127.0.0.1:3000:4000"]`)},
	{"relative folder for the engine", `SBX321 "--workdir`, imaged("a:1", `, "runArgs": ["--workdir=app"]`)},
	{"volume that root owns", `SBX330 "source=`, imaged("mcr.microsoft.com/devcontainers/typescript-node:22",
		`, "mounts": ["source=x-node_modules,target=${containerWorkspaceFolder}/node_modules,type=volume"]`)},
	{"command of the image kept", `SBX326 false`, imaged("debian:13", `, "overrideCommand": false`)},
	// Dockerfiles.
	{"home folder in ENV", `SBX747 $HOME`, "FROM debian:12\nENV PATH=\"$HOME/.local/bin:$PATH\"\n"},
	{"tilde in PATH", `SBX747 ~/.local`, "FROM debian:12\nENV PATH=\"~/.local/bin:$PATH\"\n"},
	{"home folder in WORKDIR", `SBX747 $HOME`, "FROM debian:12\nWORKDIR $HOME/app\n"},
	{"spaces around the equals sign", `SBX731 ENV`, "FROM debian:12\nENV A = b\n"},
	{"line in an array of RUN", `SBX731 RUN`, "FROM debian:12\nRUN [\"apt-get update\"]\n"},
	{"operator in an array of RUN", `SBX731 RUN`, "FROM debian:12\nRUN [\"mkdir\", \"/a\", \"&&\", \"ls\"]\n"},
	{"copied script with CRLF", `SBX753 /setup.sh`, "FROM debian:12\nCOPY setup.sh /setup.sh\nRUN chmod +x /setup.sh && /setup.sh\n" +
		"-- .devcontainer/setup.sh --\n#!/bin/bash\r\necho hi\r\n"},
	{"script for bash on Alpine", `SBX753 /setup.sh`, "FROM alpine:3.22\nCOPY --chmod=755 setup.sh /setup.sh\nRUN /setup.sh\n" +
		"-- .devcontainer/setup.sh --\n#!/bin/bash\necho hi\n"},
	{"script that is copied later", `SBX753 /setup.sh`,
		"FROM debian:12\nRUN sh /setup.sh\nCOPY setup.sh /setup.sh\n-- .devcontainer/setup.sh --\necho hi\n"},
	{"list of packages that is copied later", `SBX753 /app/requirements.txt`,
		"FROM python:3.13\nWORKDIR /app\nRUN pip install -r /app/requirements.txt\nCOPY . /app\n" +
			"-- .devcontainer/requirements.txt --\n"},
}
