package lint_test

import "testing"

// Containers in which vscode, node and root work, and one whose workspace is mounted at /w.
const (
	asVscode = `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "vscode"}` + "\n-- .devcontainer/Dockerfile --\n"
	asNode   = `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "node"}` + "\n-- .devcontainer/Dockerfile --\nFROM node:22\n"
	mountedW = `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "root", "workspaceMount": "source=${localWorkspaceFolder},` +
		`target=/w,type=bind", "workspaceFolder": "/w"`
	npmInW = "}\n-- .devcontainer/Dockerfile --\nFROM node:22\nWORKDIR /w\nCOPY package.json ./\nRUN npm install\n" +
		"-- .devcontainer/package.json --\n{}\n"
)

// writtenSteps are steps that do not what they were meant to: who runs them, where they write, what their shell makes of a text.
var writtenSteps = []pair{
	// The home folder of another user, and places of root's.
	{"configuration of git for root", `warning SBX747 git`,
		asVscode + "FROM mcr.microsoft.com/devcontainers/base:bookworm\nRUN git config --global --add safe.directory '*'\n",
		asVscode + "FROM mcr.microsoft.com/devcontainers/base:bookworm\nRUN git config --system --add safe.directory '*'\n"},
	{"Hex for root", `warning SBX747 mix`, asVscode + "FROM elixir:1.17\nRUN useradd -m vscode\nRUN mix local.hex --force\nUSER vscode\n",
		asVscode + "FROM elixir:1.17\nRUN useradd -m vscode\nUSER vscode\nRUN mix local.hex --force\n"},
	{"browsers for root", `warning SBX747 npx`, asNode + "RUN npx -y playwright install chromium\n",
		asNode + "ENV PLAYWRIGHT_BROWSERS_PATH=/pw\nRUN npx -y playwright install chromium\n"},
	{"start file of root", `warning SBX747 ~/.bashrc`, asNode + "RUN echo 'alias l=ls' >> ~/.bashrc\n",
		asNode + "RUN echo 'alias l=ls' >> /etc/bash.bashrc\n"},
	{"start file that is copied for root", `warning SBX747 /root/.zshrc`, asNode + "COPY .zshrc /root/.zshrc\n-- .devcontainer/.zshrc --\nx\n",
		asNode + "COPY .zshrc /home/node/.zshrc\n-- .devcontainer/.zshrc --\nx\n"},
	{"user without a home folder", `warning SBX754 useradd`, asVscode + "FROM debian:12\nRUN useradd -s /bin/bash vscode\n",
		asVscode + "FROM debian:12\nRUN useradd -m -s /bin/bash vscode\n"},
	{"home folder that a step makes", `SBX754`, "",
		asVscode + "FROM debian:12\nRUN useradd vscode && mkdir -p /home/vscode && chown vscode /home/vscode\n"},
	{"folder of root", `error SBX751 /usr/local/go`, "FROM debian:12\nRUN useradd -m dev\nUSER dev\nRUN mkdir -p /usr/local/go\n",
		"FROM debian:12\nRUN useradd -m dev && mkdir /usr/local/go && chown dev /usr/local/go\nUSER dev\nRUN mkdir -p /usr/local/go/bin\n"},
	{"file of root", `error SBX751 /etc/profile.d/x.sh`,
		"FROM debian:12\nRUN useradd -m dev\nUSER dev\nRUN echo 'export A=b' > /etc/profile.d/x.sh\n",
		"FROM debian:12\nRUN useradd -m dev\nRUN echo 'export A=b' > /etc/profile.d/x.sh\nUSER dev\n"},
	{"volume of root", `error SBX751 /data/ready`, "FROM debian:12\nRUN useradd -m dev\nVOLUME /data\nUSER dev\nRUN touch /data/ready\n",
		"FROM debian:12\nRUN useradd -m dev && mkdir /data && chown dev /data\nVOLUME /data\nUSER dev\nRUN touch /data/ready\n"},
	{"sudo with a password", `error SBX735 sudo`, "FROM debian:12\n" + apt + "sudo && useradd -m dev && usermod -aG sudo dev\nUSER dev\n" +
		"RUN sudo mkdir /opt/x\n", "FROM debian:12\n" + apt + "sudo && useradd -m dev && " +
		"echo 'dev ALL=(ALL) NOPASSWD: /usr/bin/mkdir' > /etc/sudoers.d/dev\nUSER dev\nRUN sudo mkdir /opt/x\n"},
	{"user to remove", `error SBX754 userdel`, "FROM debian:12\nRUN userdel -r ubuntu\n", "FROM debian:12\nRUN userdel -r ubuntu || true\n"},
	{"owner that nothing makes", `error SBX754 chown`, "FROM python:3.12\nRUN mkdir /app && chown -R node /app\n",
		"FROM python:3.12\nRUN useradd node && mkdir /app && chown -R node /app\n"},
	{"owner that a package makes", `SBX754`, "", "FROM alpine:3.22\nRUN apk add --no-cache mariadb && chown mysql /run\n"},
	{"group docker of an image for dev containers", `error SBX703 docker`,
		asVscode + "FROM mcr.microsoft.com/devcontainers/base:bookworm\nRUN usermod -aG docker vscode\n",
		asVscode + "FROM mcr.microsoft.com/devcontainers/base:bookworm\nRUN groupadd docker && usermod -aG docker vscode\n"},
	// What a build waits for, and what is hidden.
	{"server in a step", `warning SBX754 npm`, "FROM node:22\nWORKDIR /w\nCOPY . .\nRUN npm start\n-- .devcontainer/package.json --\n{}\n",
		"FROM node:22\nWORKDIR /w\nCOPY . .\nCMD [\"npm\", \"start\"]\n-- .devcontainer/package.json --\n{}\n"},
	{"database in a step", `warning SBX754 docker-entrypoint.sh`, "FROM postgres:16\nRUN docker-entrypoint.sh postgres\n",
		"FROM postgres:16\nRUN docker-entrypoint.sh --version\n"},
	{"modules under the workspace", `warning SBX734 npm`, mountedW + npmInW, mountedW + `, "postCreateCommand": "npm install"` + npmInW},
	{"modules in a volume", `SBX734`, "", mountedW + `, "mounts": ["type=volume,target=/w/node_modules"]` + npmInW},
	{"modules under the workspace of a service", `warning SBX734 npm`,
		"services:\n  app:\n    build: .\n    volumes: ['..:/w']\n    command: sleep infinity\n-- .devcontainer/Dockerfile --\nFROM node:22\n" +
			"WORKDIR /w\nCOPY package.json ./\nRUN npm install\n-- .devcontainer/package.json --\n{}\n",
		"services:\n  app:\n    build: .\n    volumes: ['..:/w', '/w/node_modules']\n    command: sleep infinity\n" +
			"-- .devcontainer/Dockerfile --\nFROM node:22\nWORKDIR /w\nCOPY package.json ./\nRUN npm install\n" +
			"-- .devcontainer/package.json --\n{}\n"},
	// Texts and arrays.
	{"script without its first line", `warning SBX753 # starts`, ownCommand + "COPY --chmod=755 e.sh /e.sh\nENTRYPOINT [\"/e.sh\"]\n" +
		"-- .devcontainer/e.sh --\n# starts\nexec sleep 1d\n", ownCommand + "COPY --chmod=755 e.sh /e.sh\nENTRYPOINT [\"/e.sh\"]\n" +
		"-- .devcontainer/e.sh --\n#!/bin/sh\nexec sleep 1d\n"},
	{"array without quotes", `warning SBX731 ENTRYPOINT`, ownCommand + "ENTRYPOINT [/usr/bin/tail, -f, /dev/null]\n",
		ownCommand + "ENTRYPOINT [\"/usr/bin/tail\", \"-f\", \"/dev/null\"]\n"},
	{"array with quotes of a text", `warning SBX731 CMD`, ownCommand + "CMD [“sleep”, “infinity”]\n",
		ownCommand + "CMD [\"sleep\", \"infinity\"]\n"},
	{"test of a shell", `SBX731`, "", ownCommand + "RUN [ -e /etc/hostname ]\n"},
	{"variable of a program's name", `warning SBX731 ENTRYPOINT`, ownCommand + "ENV A=/bin\nENTRYPOINT [\"$A/sleep\", \"1d\"]\n",
		ownCommand + "ENV A=/bin\nENTRYPOINT exec $A/sleep 1d\n"},
	{"variable of a word", `warning SBX731 CMD`, ownCommand + "ENV P=8\nCMD [\"python3\", \"-m\", \"http.server\", \"${P}\"]\n",
		ownCommand + "ENV P=8\nCMD [\"sh\", \"-c\", \"exec python3 -m http.server ${P}\"]\n"},
	{"words of a script", `warning SBX734 $@`, "FROM debian:12\nRUN echo \"#!/bin/sh\\nexec $@\" > /e.sh && chmod +x /e.sh\n",
		"FROM debian:12\nRUN echo '#!/bin/sh\\nexec \"$@\"' > /e.sh && echo \"x \\$@ $PATH\" > /f.sh\n"},
	{"words of a script in a here-document", `warning SBX734 $@`, "FROM debian:12\nCOPY <<EOF /e.sh\n#!/bin/sh\nexec \"$@\"\nEOF\n",
		"FROM debian:12\nCOPY <<'EOF' /e.sh\n#!/bin/sh\nexec \"$@\"\nEOF\n"},
	{"here-document that goes on", `warning SBX734 apt-get`,
		"FROM debian:12\nRUN <<EOF\napt-get update\napt-get install -y git\ngit --version\nEOF\n",
		"FROM debian:12\nRUN <<EOF\nset -eu\napt-get update\napt-get install -y git\ngit --version\nEOF\n"},
	{"loop over braces", `warning SBX748 {`, "FROM debian:12\nRUN for i in {1..3}; do echo $i; done\n",
		"FROM debian:12\nRUN for i in 1 2 3; do echo $i; done && bash -c 'for i in {1..3}; do echo $i; done'\n"},
	{"numbers in braces", `warning SBX748 /`, "FROM debian:12\nRUN mkdir -p /srv/d{1..3}\n",
		"FROM debian:12\nRUN mkdir -p /srv/d1 /srv/d2\n"},
	{"update or install", `warning SBX754 update`, "FROM debian:12\nRUN apt-get update || apt-get install -y git\n",
		"FROM debian:12\nRUN apt-get update && apt-get install -y git || exit 1\n"},
	// Stages.
	{"argument of another stage", `warning SBX730 $V`,
		"FROM debian:12 AS a\nARG V=1\nRUN echo $V > /x\nFROM debian:12\nCOPY --from=a /x /x\nRUN echo $V\n",
		"FROM debian:12 AS a\nARG V=1\nRUN echo $V > /x\nFROM debian:12\nARG V\nCOPY --from=a /x /x\nRUN echo $V\n"},
	{"stage that is misspelt", `warning SBX719 bse`, "FROM debian:12 AS base\nRUN true\nFROM bse\n",
		"FROM debian:12 AS base\nRUN true\nFROM base\n"},
	{"platform that is misspelt", `warning SBX730 $BUILDPLATFROM`, "FROM --platform=$BUILDPLATFROM debian:12\n",
		"FROM --platform=$BUILDPLATFORM debian:12\n"},
	{"platform that there is none of", `warning SBX730 linux/adm64`, "FROM --platform=linux/adm64 debian:12\n",
		"FROM --platform=linux/amd64 debian:12\n"},
	{"path of another stage", `error SBX754 x.tgz`,
		"FROM debian:12 AS b\nWORKDIR /foo\nRUN touch x.tgz\nFROM debian:12\nCOPY --from=b x.tgz /\n",
		"FROM debian:12 AS b\nWORKDIR /foo\nRUN touch x.tgz\nFROM debian:12\nCOPY --from=b foo/x.tgz /\n"},
}

func TestWrittenSteps(t *testing.T) { testPairs(t, writtenSteps) }

// writtenFacts are about what an image, a package manager or a program does not have.
var writtenFacts = []pair{
	{"archive of the network", `warning SBX754 https://example.com/x.tar.gz`, "FROM debian:12\nADD https://example.com/x.tar.gz /opt/\n",
		"FROM debian:12\nADD https://example.com/x.tar.gz /opt/\nRUN tar -xzf /opt/x.tar.gz -C /opt\n"},
	{"archive of xz", `error SBX749 tar`,
		"FROM debian:12-slim\n" + apt + "curl\nRUN curl -fsSL https://example.com/n.tar.xz | tar -xJ -C /opt\n",
		"FROM debian:12-slim\n" + apt + "curl xz-utils\nRUN curl -fsSL https://example.com/n.tar.xz | tar -xJ -C /opt\n"},
	{"archive of bzip2 by its name", `error SBX749 tar`,
		"FROM node:22-slim\nCOPY a.tar.bz2 /srv/\nRUN tar xf /srv/a.tar.bz2\n-- .devcontainer/a.tar.bz2 --\nx\n",
		"FROM node:22\nCOPY a.tar.bz2 /srv/\nRUN tar xf /srv/a.tar.bz2\n-- .devcontainer/a.tar.bz2 --\nx\n"},
	{"minimal image of Red Hat", `warning SBX749 dnf`, "FROM registry.access.redhat.com/ubi9/ubi-minimal:9.5\nRUN dnf install -y git\n",
		"FROM registry.access.redhat.com/ubi9/ubi-minimal:9.5\nRUN microdnf install -y git\n"},
	{"program of a health check", `warning SBX754 curl`, "FROM node:22-slim\nHEALTHCHECK CMD curl -f http://localhost/ || exit 1\n",
		"FROM node:22-slim\nHEALTHCHECK CMD node -e 'fetch(1)' || exit 1\n"},
	{"key of a source", `warning SBX754 /etc/apt/keyrings/x.asc`,
		"FROM debian:12\nRUN echo 'deb [signed-by=/etc/apt/keyrings/x.asc] https://example.com/d bookworm main' > " +
			"/etc/apt/sources.list.d/x.list\n",
		"FROM debian:12\nCOPY x.asc /etc/apt/keyrings/\nRUN echo 'deb [signed-by=/etc/apt/keyrings/x.asc] https://example.com/d bookworm main' " +
			"> /etc/apt/sources.list.d/x.list\n-- .devcontainer/x.asc --\nx\n"},
	{"source of another system", `warning SBX754 download.docker.com`,
		"FROM ubuntu:24.04\nRUN echo 'deb https://download.docker.com/linux/debian bookworm stable' > /etc/apt/sources.list.d/d.list\n",
		"FROM debian:12\nRUN echo 'deb https://download.docker.com/linux/debian bookworm stable' > /etc/apt/sources.list.d/d.list\n"},
	{"Oh My Zsh without zsh", `warning SBX754 sh`, "FROM debian:12\n" + apt + "curl git\n" +
		"RUN sh -c \"$(curl -fsSL https://raw.githubusercontent.com/ohmyzsh/ohmyzsh/master/tools/install.sh)\"\n", "FROM debian:12\n" + apt +
		"curl git zsh\nRUN sh -c \"$(curl -fsSL https://raw.githubusercontent.com/ohmyzsh/ohmyzsh/master/tools/install.sh)\"\n"},
	{"what the builder keeps out", `warning SBX753 node_modules`, `{"build": {"dockerfile": "Dockerfile", "context": ".."}}` +
		"\n-- .devcontainer/Dockerfile --\nFROM debian:12\nCOPY . /a\n-- .devcontainer/.dockerignore --\nnode_modules\n",
		`{"build": {"dockerfile": "Dockerfile", "context": ".."}}` +
			"\n-- .devcontainer/Dockerfile --\nFROM debian:12\nCOPY . /a\n-- .dockerignore --\nnode_modules\n"},
	{"curl of Amazon Linux", `warning SBX754 dnf`, "FROM amazonlinux:2023\nRUN dnf install -y tar curl\n",
		"FROM amazonlinux:2023\nRUN dnf install -y --allowerasing tar curl\n"},
	{"repository of an older release", `warning SBX754 dnf`, "FROM almalinux:9\nRUN dnf config-manager --set-enabled powertools\n",
		"FROM almalinux:9\nRUN dnf config-manager --set-enabled crb\n"},
	{"EPEL on Fedora", `warning SBX754 dnf`, "FROM fedora:41\nRUN dnf install -y epel-release\n",
		"FROM rockylinux:9\nRUN dnf install -y epel-release\n"},
	{"package of EPEL", `warning SBX754 dnf`, "FROM rockylinux:9\nRUN dnf install -y git htop\n",
		"FROM rockylinux:9\nRUN dnf install -y epel-release && dnf install -y git htop\n"},
	{"package of another architecture", `error SBX752 libc6:i386`, "FROM debian:12\n" + apt + "libc6:i386\n",
		"FROM debian:12\nRUN dpkg --add-architecture i386\n" + apt + "libc6:i386\n"},
	{"compiler of pecl", `error SBX754 pecl`, "FROM php:8.3-fpm-alpine\nRUN pecl install xdebug && docker-php-ext-enable xdebug\n",
		"FROM php:8.3-fpm-alpine\nRUN apk add $PHPIZE_DEPS && pecl install xdebug && docker-php-ext-enable xdebug\n"},
	{"extension that is not loaded", `warning SBX754 pecl`, "FROM php:8.3\nRUN pecl install xdebug-3.4.0\n",
		"FROM php:8.3\nRUN pecl install xdebug-3.4.0 && docker-php-ext-enable xdebug\n"},
	{"folder of pnpm", `error SBX754 pnpm`, "FROM node:22\nRUN npm install -g pnpm@9\nRUN pnpm add -g vercel\n",
		"FROM node:22\nENV PNPM_HOME=/pnpm\nENV PATH=$PNPM_HOME:$PATH\nRUN npm install -g pnpm@9\nRUN pnpm add -g vercel\n"},
	{"compiler of cgo", `warning SBX754 go`, "FROM golang:1.23-alpine\nENV CGO_ENABLED=1\nWORKDIR /s\nCOPY go.mod ./\nRUN go build ./...\n" +
		"-- .devcontainer/go.mod --\nmodule a\n",
		"FROM golang:1.23-alpine\nRUN apk add gcc musl-dev\nENV CGO_ENABLED=1\nWORKDIR /s\nCOPY go.mod ./\n" +
			"RUN go build ./...\n-- .devcontainer/go.mod --\nmodule a\n"},
	{"gems that come as source", `warning SBX754 bundle`,
		"FROM ruby:3.3-slim\nWORKDIR /a\nCOPY Gemfile Gemfile.lock ./\nRUN bundle install\n" +
			"-- .devcontainer/Gemfile --\nx\n-- .devcontainer/Gemfile.lock --\nGEM\n  specs:\n    nio4r (2.7.5)\n",
		"FROM ruby:3.3\nWORKDIR /a\nCOPY Gemfile Gemfile.lock ./\nRUN bundle install\n" +
			"-- .devcontainer/Gemfile --\nx\n-- .devcontainer/Gemfile.lock --\nGEM\n  specs:\n    nio4r (2.7.5)\n"},
	{"key of a host", `error SBX754 git`, "FROM golang:1.23\nRUN git clone git@github.com:a/b.git /b\n",
		"FROM golang:1.23\nRUN mkdir -p ~/.ssh && ssh-keyscan github.com >> ~/.ssh/known_hosts\n" +
			"RUN --mount=type=ssh git clone git@github.com:a/b.git /b\n"},
	{"licences of Android", `warning SBX754 sdkmanager`, "FROM eclipse-temurin:17-jdk\nRUN sdkmanager 'platforms;android-34'\n",
		"FROM eclipse-temurin:17-jdk\nRUN yes | sdkmanager --licenses && sdkmanager 'platforms;android-34'\n"},
	{"runtime of .NET", `warning SBX754 dotnet`, "FROM mcr.microsoft.com/dotnet/aspnet:8.0\nRUN dotnet tool list\n",
		"FROM mcr.microsoft.com/dotnet/sdk:8.0\nRUN dotnet tool list\n"},
	{"runtime of Java", `warning SBX749 javac`, "FROM eclipse-temurin:21-jre\nRUN javac -version\n",
		"FROM eclipse-temurin:21-jdk\nRUN javac -version\n"},
	{"Maven in an image of a JDK", `warning SBX749 mvn`, "FROM eclipse-temurin:21-jdk\nRUN mvn -v\n",
		"FROM maven:3-eclipse-temurin-21\nRUN mvn -v\n"},
	{"runtime of CUDA", `warning SBX749 nvcc`, "FROM nvidia/cuda:12.6.2-runtime-ubuntu22.04\nRUN nvcc -V\n",
		"FROM nvidia/cuda:12.6.2-devel-ubuntu22.04\nRUN nvcc -V\n"},
	{"newest CUDA", `warning SBX755 nvidia/cuda:latest`, "FROM nvidia/cuda:latest\n", "FROM nvidia/cuda:12.6.2-base-ubuntu22.04\n"},
	{"CUDA that is gone", `warning SBX755 nvidia/cuda`, "FROM nvidia/cuda:10.2-devel-ubuntu18.04\n",
		"FROM nvidia/cuda:11.8.0-devel-ubuntu22.04\n"},
	{"package of a vendor", `warning SBX754 dpkg`,
		"FROM debian:12\n" + apt + "wget\nRUN wget https://x.io/google-chrome-stable_amd64.deb && " +
			"dpkg -i google-chrome-stable_amd64.deb\n",
		"FROM debian:12\n" + apt + "wget\nRUN wget https://x.io/google-chrome-stable_amd64.deb && " +
			"apt-get install -y ./google-chrome-stable_amd64.deb\n"},
	{"Homebrew as root", `warning SBX754 bash`,
		"FROM golang:1.23\nRUN bash -c \"$(curl -fsSL https://raw.githubusercontent.com/Homebrew/install/HEAD/install.sh)\"\n",
		"FROM golang:1.23\nRUN useradd -m dev\nUSER dev\n" +
			"RUN bash -c \"$(curl -fsSL https://raw.githubusercontent.com/Homebrew/install/HEAD/install.sh)\"\n"},
	{"Nix as root", `warning SBX754 sh`, "FROM golang:1.23\nRUN curl -L https://nixos.org/nix/install | sh -s -- --no-daemon\n",
		"FROM golang:1.23\nRUN curl -L https://nixos.org/nix/install | sh -s - --daemon\n"},
	{"browsers on Fedora", `warning SBX754 npx`, "FROM fedora:41\nRUN dnf install -y npm && npx -y playwright install --with-deps\n",
		"FROM node:22\nRUN npx -y playwright install --with-deps\n"},
	{"libraries of browsers as a user", `warning SBX754 npx`, "FROM node:22\nUSER node\nRUN npx -y playwright install --with-deps\n",
		"FROM node:22\nRUN npx -y playwright install-deps\nUSER node\nRUN npx -y playwright install\n"},
}

func TestWrittenFacts(t *testing.T) { testPairs(t, writtenFacts) }

// writtenWords are words that a program does not know, and folders and files that are not what a step takes them for.
var writtenWords = []pair{
	{"word of apt", `error SBX754 apt-get`, "FROM debian:12\nRUN apt-get update && apt-get intall -y git\n",
		"FROM debian:12\nRUN apt-get -q update && apt-get -o Dpkg::Use-Pty=0 install -y git\n"},
	{"word of apk", `warning SBX754 apk`, "FROM alpine:3.20\nRUN apk install git\n", "FROM alpine:3.20\nRUN apk --no-cache add git\n"},
	{"package that is misspelt", `error SBX752 build-essentials`, "FROM debian:12\n" + apt + "build-essentials\n",
		"FROM debian:12\n" + apt + "build-essential\n"},
	{"list as a package", `error SBX754 pip`, "FROM python:3.12\nCOPY requirements.txt /t/\nRUN pip install requirements.txt\n" +
		"-- .devcontainer/requirements.txt --\nflask\n",
		"FROM python:3.12\nCOPY requirements.txt /t/\nRUN pip install -r /t/requirements.txt\n" +
			"-- .devcontainer/requirements.txt --\nflask\n"},
	{"newest npm", `error SBX754 npm`, "FROM node:20\nRUN npm install -g npm@latest\n", "FROM node:20\nRUN npm install -g npm@10\n"},
	{"folder in a folder", `error SBX754 mkdir`, "FROM debian:12\nRUN mkdir /opt/a/b\n",
		"FROM debian:12\nRUN mkdir /opt/a && mkdir /opt/a/b\n"},
	{"activate as a program", `error SBX754 .venv/bin/activate`,
		"FROM python:3.12\nWORKDIR /a\nRUN python -m venv .venv\nRUN .venv/bin/activate && pip install flask\n",
		"FROM python:3.12\nWORKDIR /a\nRUN python -m venv .venv\nRUN . .venv/bin/activate && pip install flask\n"},
	{"file with the name of a folder", `error SBX754 /app`,
		"FROM debian:12\nCOPY c.json /app\nWORKDIR /app\n-- .devcontainer/c.json --\n{}\n",
		"FROM debian:12\nCOPY c.json /app/\nWORKDIR /app\n-- .devcontainer/c.json --\n{}\n"},
	{"folder that cp leaves out", `error SBX753 /app/conf`,
		"FROM debian:12\nCOPY . /app\nRUN cp /app/conf /srv\n-- .devcontainer/conf/a --\nx\n",
		"FROM debian:12\nCOPY . /app\nRUN cp -r /app/conf /srv\n-- .devcontainer/conf/a --\nx\n"},
	{"mode in front of its file", `error SBX753 /entrypoint.sh`,
		"FROM debian:12\nRUN chmod +x /entrypoint.sh\nCOPY entrypoint.sh /\n-- .devcontainer/entrypoint.sh --\n#!/bin/sh\n",
		"FROM debian:12\nCOPY entrypoint.sh /\nRUN chmod +x /entrypoint.sh\n-- .devcontainer/entrypoint.sh --\n#!/bin/sh\n"},
	{"lock of pipenv", `error SBX753 pipenv`,
		"FROM python:3.12\nRUN pip install pipenv\nWORKDIR /a\nRUN pipenv install --deploy\nCOPY . .\n" +
			"-- .devcontainer/Pipfile.lock --\n{}\n",
		"FROM python:3.12\nRUN pip install pipenv\nWORKDIR /a\nCOPY . .\nRUN pipenv install --deploy\n" +
			"-- .devcontainer/Pipfile.lock --\n{}\n"},
	{"Go of a module", `warning SBX753 go`, "FROM golang:1.22\nWORKDIR /a\nCOPY go.mod .\nRUN go mod download\n" +
		"-- .devcontainer/go.mod --\nmodule a\n\ngo 1.23.0\n", "FROM golang:1.23\nWORKDIR /a\nCOPY go.mod .\nRUN go mod download\n" +
		"-- .devcontainer/go.mod --\nmodule a\n\ngo 1.23.0\n"},
	{"folder below a home that WORKDIR makes", `error SBX751 npm`,
		"FROM node:22\nWORKDIR /home/node/app\nUSER node\nCOPY package.json ./\nRUN npm install\n-- .devcontainer/package.json --\n{}\n",
		"FROM node:22\nWORKDIR /home/node/app\nRUN chown node .\nUSER node\nCOPY package.json ./\nRUN npm install\n" +
			"-- .devcontainer/package.json --\n{}\n"},
	{"folder that WORKDIR makes for its user, as BuildKit does", `SBX751`, "",
		"FROM node:22\nUSER node\nWORKDIR /home/node/app\nCOPY package.json ./\nRUN npm install\n-- .devcontainer/package.json --\n{}\n"},
	{"packages as the user of an image for Rails", `warning SBX751 apt-get`,
		"FROM ghcr.io/rails/devcontainer/images/ruby:3.3.5\n" + apt + "vim\n",
		"FROM ghcr.io/rails/devcontainer/images/ruby:3.3.5\nUSER root\n" + apt + "vim\nUSER vscode\n"},
	{"PATH of a start file", `error SBX749 go`, fetchedGo + "RUN echo 'export PATH=$PATH:/usr/local/go/bin' >> ~/.bashrc\nRUN go version\n",
		fetchedGo + "ENV PATH=$PATH:/usr/local/go/bin\nRUN go version\n"},
	{"uv for root", `warning SBX747 sh`,
		asVscode + "FROM mcr.microsoft.com/devcontainers/base:bookworm\nRUN curl -LsSf https://astral.sh/uv/install.sh | sh\n",
		asVscode + "FROM mcr.microsoft.com/devcontainers/base:bookworm\n" +
			"RUN curl -LsSf https://astral.sh/uv/install.sh | env UV_INSTALL_DIR=/usr/local/bin sh\n"},
	{"package of Python for root", `warning SBX747 pip`,
		asVscode + "FROM mcr.microsoft.com/devcontainers/python:3.12\nRUN pip install --user black\n",
		asVscode + "FROM mcr.microsoft.com/devcontainers/python:3.12\nRUN pip install black\n"},
}

func TestWrittenWords(t *testing.T) { testPairs(t, writtenWords) }
