package lint_test

import "testing"

// apt is the beginning of a step that installs packages of Debian.
const apt = "RUN apt-get update && apt-get install -y "

const (
	fetchedGo = "FROM debian:12\n" + apt + "curl\nRUN curl -fsSL https://go.dev/dl/go1.24.0.linux-amd64.tar.gz | tar -C /usr/local -xz\n"
	vscodeIn  = `{"build": {"dockerfile": "Dockerfile"}}` + "\n-- .devcontainer/Dockerfile --\n" +
		"FROM mcr.microsoft.com/devcontainers/base:bookworm\nUSER vscode\n"
)

// writtenDocker are mistakes of Dockerfiles that were written without a look at the rules.
var writtenDocker = []pair{
	// Commands that their program refuses.
	{"words of a second command", `error SBX754 apt-get`, "FROM debian:12\nRUN apt-get update \\\n    apt-get install -y git\n",
		"FROM debian:12\nRUN apt-get update \\\n  && apt-get install -y git\n"},
	{"instruction in a step", `error SBX754 WORKDIR`, "FROM debian:12\n" + apt + "git && \\\n\nWORKDIR /app\n",
		"FROM debian:12\n" + apt + "git\n\nWORKDIR /app\n"},
	{"option of a newer pip", `error SBX754 pip3`,
		"FROM ubuntu:22.04\n" + apt + "python3-pip\nRUN pip3 install --break-system-packages flask\n",
		"FROM ubuntu:24.04\n" + apt + "python3-pip\nRUN pip3 install --break-system-packages flask\n"},
	{"uv without an environment", `error SBX754 uv`, "FROM python:3.12\nRUN pip install uv\nRUN uv pip install flask\n",
		"FROM python:3.12\nRUN pip install uv\nENV UV_SYSTEM_PYTHON=1\nRUN uv pip install flask\n"},
	{"two tools of uv", `error SBX754 uv`, "FROM python:3.12\nRUN pip install uv && uv tool install ruff black\n",
		"FROM python:3.12\nRUN pip install uv && uv tool install ruff --with black\n"},
	{"go get without a module", `error SBX754 go`, "FROM golang:1.23\nRUN go get golang.org/x/tools/gopls\n",
		"FROM golang:1.23\nRUN go install golang.org/x/tools/gopls@latest\n"},
	{"go install without a version", `error SBX754 go`, "FROM golang:1.23\nRUN go install golang.org/x/tools/gopls\n",
		"FROM golang:1.23\nRUN go mod init x && go get golang.org/x/tools/gopls && go install golang.org/x/tools/gopls\n"},
	{"lock that is not brought", `error SBX753 npm`, "FROM node:20\nWORKDIR /app\nCOPY package.json ./\nRUN npm ci\n" +
		"-- .devcontainer/package.json --\n{}\n-- .devcontainer/package-lock.json --\n{}\n",
		"FROM node:20\nWORKDIR /app\nCOPY package*.json ./\nRUN npm ci\n" +
			"-- .devcontainer/package.json --\n{}\n-- .devcontainer/package-lock.json --\n{}\n"},
	{"lock that the whole folder has", `error SBX753 npm`, "FROM node:20\nWORKDIR /app\nCOPY . ./\nRUN npm ci\n" +
		"-- .devcontainer/package.json --\n{}\n", "FROM node:20\nWORKDIR /app\nCOPY . ./\nRUN npm ci\n" +
		"-- .devcontainer/package.json --\n{}\n-- .devcontainer/npm-shrinkwrap.json --\n{}\n"},
	{"snap in a build", `error SBX754 snap`, "FROM ubuntu:24.04\n" + apt + "snapd && snap install kubectl\n",
		"FROM ubuntu:24.04\n" + apt + "snapd\n"},
	{"service in a build", `error SBX754 systemctl`, "FROM ubuntu:24.04\n" + apt + "nginx && systemctl enable --now nginx\n",
		"FROM ubuntu:24.04\n" + apt + "nginx systemd && systemctl enable nginx\n"},
	{"browsers on Alpine", `warning SBX754 npx`, "FROM node:22-alpine\nRUN npx -y playwright install chromium\n",
		"FROM node:22\nRUN npx -y playwright install --with-deps chromium\n"},
	{"options of another adduser", `warning SBX754 adduser`, "FROM fedora:42\nRUN adduser --disabled-password --gecos \"\" dev\n",
		"FROM fedora:42\nRUN adduser dev\n"},
	{"group of another family", `warning SBX754 useradd`, "FROM fedora:42\nRUN useradd -m -G sudo dev\n",
		"FROM fedora:42\nRUN useradd -m -G wheel dev\n"},
	{"group of Red Hat", `error SBX754 useradd`, "FROM debian:12\nRUN useradd -m -G wheel dev\n",
		"FROM debian:12\nRUN useradd -m -G sudo dev\n"},
	{"login shell that is not there", `warning SBX754 useradd`, "FROM debian:12\nRUN useradd -m -s /bin/zsh dev\n",
		"FROM debian:12\n" + apt + "zsh\nRUN useradd -m -s /bin/zsh dev\n"},
	{"login shell that is not there, by chsh", `warning SBX754 chsh`, "FROM debian:12\nRUN chsh -s /bin/zsh\n",
		"FROM debian:12\nRUN chsh -s /bin/bash\n"},
	{"library of an extension", `warning SBX754 docker-php-ext-install`, "FROM php:8.3\nRUN docker-php-ext-install pdo_mysql zip\n",
		"FROM php:8.3\n" + apt + "libzip-dev && docker-php-ext-install pdo_mysql zip\n"},
	{"package that comes as source", `warning SBX754 pip`, "FROM python:3.12-slim\nRUN pip install psycopg2\n",
		"FROM python:3.12-slim\nRUN pip install psycopg2-binary\n"},
	{"package of a list that comes as source", `warning SBX754 pip`, "FROM python:3.12-slim\nCOPY requirements.txt /tmp/\n" +
		"RUN pip install -r /tmp/requirements.txt\n-- .devcontainer/requirements.txt --\nflask\nmysqlclient==2.2\n",
		"FROM python:3.12\nCOPY requirements.txt /tmp/\n" +
			"RUN pip install -r /tmp/requirements.txt\n-- .devcontainer/requirements.txt --\nflask\nmysqlclient==2.2\n"},
	{"gem that comes as source", `warning SBX754 gem`, "FROM ruby:3.4-slim\nRUN gem install rails\n",
		"FROM ruby:3.4-slim\n" + apt + "build-essential\nRUN gem install rails\n"},
	{"address that moved", `warning SBX754 curl`,
		"FROM golang:1.24\nRUN curl -o /tmp/x.tgz https://github.com/a/b/releases/download/v1/x.tgz && tar xzf /tmp/x.tgz\n",
		"FROM golang:1.24\nRUN curl -fsSLo /tmp/x.tgz https://github.com/a/b/releases/download/v1/x.tgz && tar xzf /tmp/x.tgz\n"},
	{"owner that a step below makes", `error SBX754 chown`, "FROM debian:12\nRUN mkdir /app && chown -R dev:dev /app\nRUN useradd -m dev\n",
		"FROM debian:12\nRUN useradd -m dev\nRUN mkdir /app && chown -R dev:dev /app\n"},
	{"question of pacman", `warning SBX754 pacman`, "FROM archlinux:base\nRUN pacman -Syu git\n",
		"FROM archlinux:base\nRUN pacman -Syu --noconfirm git\n"},
	{"lists of pacman", `warning SBX754 pacman`, "FROM archlinux:base\nRUN pacman -S --noconfirm git\n",
		"FROM archlinux:base\nRUN pacman -Sy --noconfirm && pacman -S --noconfirm git\n"},
	{"PPA on Debian", `warning SBX754 add-apt-repository`,
		"FROM debian:12\n" + apt + "software-properties-common && add-apt-repository -y ppa:deadsnakes/ppa\n",
		"FROM ubuntu:22.04\n" + apt + "software-properties-common && add-apt-repository -y ppa:deadsnakes/ppa\n"},
	{"program that was fetched", `error SBX754 yq`,
		"FROM golang:1.24\nRUN curl -fsSL -o /usr/local/bin/yq https://example.com/yq\nRUN yq --version\n",
		"FROM golang:1.24\nRUN curl -fsSL -o /usr/local/bin/yq https://example.com/yq && chmod +x /usr/local/bin/yq\nRUN yq --version\n"},
	// Programs that are not found.
	{"cargo outside of PATH", `error SBX749 cargo`, "FROM python:3.12\nRUN curl -sSf https://sh.rustup.rs | sh\nRUN cargo install just\n",
		"FROM python:3.12\nRUN curl -sSf https://sh.rustup.rs | sh\nENV PATH=/root/.cargo/bin:$PATH\nRUN cargo install just\n"},
	{"uv outside of PATH", `error SBX749 uv`, "FROM python:3.12\nRUN curl -LsSf https://astral.sh/uv/install.sh | sh\nRUN uv sync\n",
		"FROM python:3.12\nRUN curl -LsSf https://astral.sh/uv/install.sh | env UV_INSTALL_DIR=/usr/local/bin sh\nRUN uv sync\n"},
	{"uv outside of PATH of another image", `warning SBX749 uv`,
		"FROM mcr.microsoft.com/devcontainers/base:bookworm\nRUN curl -LsSf https://astral.sh/uv/install.sh | sh && uv python install 3.12\n",
		"FROM mcr.microsoft.com/devcontainers/base:bookworm\nRUN curl -LsSf https://astral.sh/uv/install.sh | sh && " +
			". ~/.local/bin/env && uv python install 3.12\n"},
	{"Go outside of PATH", `error SBX749 go`, fetchedGo + "RUN go version\n", fetchedGo + "RUN /usr/local/go/bin/go version\n"},
	{"tool of dotnet outside of PATH", `warning SBX749 dotnet-ef`,
		"FROM mcr.microsoft.com/dotnet/sdk:9.0\nRUN dotnet tool install -g dotnet-ef\nRUN dotnet-ef --version\n",
		"FROM mcr.microsoft.com/dotnet/sdk:9.0\nRUN dotnet tool install -g dotnet-ef\nRUN dotnet --version\n"},
	{"npm without its package", `error SBX749 npm`, "FROM debian:12\n" + apt + "curl\n" +
		"RUN curl -fsSL https://deb.nodesource.com/setup_22.x | bash -\nRUN npm i -g yarn\n", "FROM debian:12\n" + apt + "curl npm\n" +
		"RUN npm i -g yarn\n"},
	{"npm of another source's package", `SBX749`, "", "FROM debian:12\n" + apt + "curl\n" +
		"RUN curl -fsSL https://deb.nodesource.com/setup_22.x | bash -\nRUN apt-get install -y nodejs\nRUN npm i -g yarn\n"},
	{"PATH below the home folder of root", `warning SBX747 /root/.cargo/bin`,
		vscodeIn + "ENV PATH=/root/.cargo/bin:$PATH\n", vscodeIn + "ENV PATH=/home/vscode/.cargo/bin:$PATH\n"},
	// Packages of other sources, families and releases.
	{"package of another source", `error SBX752 google-chrome-stable`, "FROM debian:12\n" + apt + "google-chrome-stable\n",
		"FROM debian:12\n" + apt + "chromium\n"},
	{"package of another source, release not known", `error SBX752 docker-ce-cli`, "FROM python:3.12\n" + apt + "docker-ce-cli\n",
		"FROM python:3.12\nRUN curl -fsSL https://download.docker.com/linux/debian/gpg -o /etc/apt/keyrings/docker.asc\n" + apt +
			"docker-ce-cli\n"},
	{"Python of another release", `error SBX752 python3.12`, "FROM debian:12\n" + apt + "python3.12\n",
		"FROM debian:12\n" + apt + "python3.11\n"},
	{"server of another release", `error SBX752 postgresql-16`, "FROM debian:12\n" + apt + "postgresql-16\n",
		"FROM debian:12\n" + apt + "postgresql-15\n"},
	{"names of Debian on Alpine", `error SBX752 libssl-dev`, "FROM alpine:3.22\nRUN apk add --no-cache libssl-dev\n",
		"FROM alpine:3.22\nRUN apk add --no-cache openssl-dev\n"},
	{"names of Debian on Fedora", `warning SBX752 build-essential`, "FROM fedora:42\nRUN dnf install -y build-essential\n",
		"FROM fedora:42\nRUN dnf install -y gcc-c++\n"},
	{"pip of Alpine", `error SBX752 pip`, "FROM alpine:latest\nRUN apk add --no-cache py3-pip\nRUN pip install fastapi\n",
		"FROM alpine:3.18\nRUN apk add --no-cache py3-pip\nRUN pip install fastapi\n"},
	{"pip of Ubuntu in an image for dev containers", `error SBX752 pip`,
		"FROM mcr.microsoft.com/devcontainers/base:ubuntu-24.04\n" + apt + "python3-pip && pip install ruff\n",
		"FROM mcr.microsoft.com/devcontainers/base:ubuntu-22.04\n" + apt + "python3-pip && pip install ruff\n"},
	{"corepack of a new Node", `error SBX749 corepack`, "FROM node:25\nRUN corepack enable\n", "FROM node:24\nRUN corepack enable\n"},
	{"locales that nothing installs", `error SBX749 locale-gen`, "FROM debian:12\nRUN locale-gen en_US.UTF-8\n",
		"FROM debian:12\n" + apt + "locales && locale-gen en_US.UTF-8\n"},
	{"lists that a step removed", `warning SBX710 apt-get install -y git`, "FROM debian:12\n" + apt + "curl && rm -rf /var/lib/apt/lists/*\n" +
		"RUN apt-get install -y git\n", "FROM debian:12\n" + apt + "curl && rm -rf /var/lib/apt/lists/*\n" + apt + "git\n"},
	{"question of apt before it removes", `warning SBX724 apt-get purge`, "FROM debian:12\n" + apt + "curl && apt-get purge curl\n",
		"FROM debian:12\n" + apt + "curl && apt-get purge -y curl\n"},
	// What dash does otherwise.
	{"braces of bash", `warning SBX748 /`, "FROM debian:12\nRUN mkdir -p /app/{src,test}\n",
		"FROM debian:12\nSHELL [\"/bin/bash\", \"-c\"]\nRUN mkdir -p /app/{src,test}\n"},
	{"echo -e", `warning SBX748 -`, "FROM debian:12\nRUN echo -e 'a\\nb' > /etc/x\n", "FROM debian:12\nRUN printf 'a\\nb' > /etc/x\n"},
	// Files of the context.
	{"file that a step mounts", `warning SBX729 requirements.txt`,
		"FROM python:3.12\nRUN --mount=type=bind,source=requirements.txt,target=/r.txt pip install -r /r.txt\n",
		"FROM python:3.12\nRUN --mount=type=bind,source=requirements.txt,target=/r.txt pip install -r /r.txt\n" +
			"-- .devcontainer/requirements.txt --\nflask\n"},
	{"pattern that nothing matches", `warning SBX729 config/*.yml`,
		"FROM debian:12\nCOPY config/*.yml /cfg/\n-- .devcontainer/config/a.yaml --\na: 1\n",
		"FROM debian:12\nCOPY config/*.yaml /cfg/\n-- .devcontainer/config/a.yaml --\na: 1\n"},
	// What an image does not have.
	{"variant of Ubuntu", `error SBX755 python:3.12-jammy`, "FROM python:3.12-jammy\n", "FROM python:3.12-bookworm\n"},
	{"version behind the variant", `error SBX755 node:bookworm-20`, "FROM node:bookworm-20\n", "FROM node:20-bookworm\n"},
	{"version of another system", `error SBX755 alpine:24.04`, "FROM alpine:24.04\n", "FROM alpine:3.22\n"},
	{"release that is none", `error SBX755 ubuntu:24.06`, "FROM ubuntu:24.06\n", "FROM ubuntu:24.04\n"},
	{"container without a shell", `error SBX755 FROM scratch`,
		"FROM golang:1.24 AS b\nFROM scratch\nCOPY --from=b /usr/local/go /usr/local/go\n",
		"FROM golang:1.24 AS b\nFROM debian:12\nCOPY --from=b /usr/local/go /usr/local/go\n"},
	{"folder of sudo", `error SBX755 /etc/sudoers.d/dev`,
		"FROM debian:12\nRUN useradd -m dev && echo 'dev ALL=(ALL) ALL' > /etc/sudoers.d/dev\n",
		"FROM debian:12\n" + apt + "sudo && useradd -m dev && echo 'dev ALL=(ALL) ALL' > /etc/sudoers.d/dev\n"},
	{"folder of keys", `error SBX755 ~/.ssh/config`, "FROM debian:12\nRUN echo 'Host *' >> ~/.ssh/config\n",
		"FROM debian:12\nRUN mkdir -p ~/.ssh && echo 'Host *' >> ~/.ssh/config\n"},
	{"locale", `warning SBX755 LANG`, "FROM debian:12\nENV LANG=en_US.UTF-8\n", "FROM debian:12\nENV LANG=C.UTF-8\n"},
	{"time zone", `warning SBX755 TZ`, "FROM alpine:3.22\nENV TZ=Europe/Berlin\n",
		"FROM alpine:3.22\nRUN apk add --no-cache tzdata\nENV TZ=Europe/Berlin\n"},
	{"release that has ended", `warning SBX752 apt-get update`, "FROM ubuntu:23.10\n" + apt + "git\n", "FROM ubuntu:24.04\n" + apt + "git\n"},
	{"CentOS", `warning SBX752 yum`, "FROM centos:7\nRUN yum install -y git\n",
		"FROM centos:7\nRUN sed -i s/mirrorlist/#mirrorlist/ /etc/yum.repos.d/* && yum install -y git\n"},
	{"program to start with", `error SBX753 ENTRYPOINT`, ownCommand + "ENTRYPOINT [\"/entrypoint.sh\"]\n",
		ownCommand + "COPY entrypoint.sh /\nENTRYPOINT [\"/entrypoint.sh\"]\n-- .devcontainer/entrypoint.sh --\n#!/bin/sh\nexec sleep 1d\n"},
	{"script that runs no CMD", `warning SBX753 echo hi`, ownCommand + "COPY --chmod=755 e.sh /e.sh\nENTRYPOINT [\"/e.sh\"]\n" +
		"CMD [\"sleep\", \"infinity\"]\n-- .devcontainer/e.sh --\n#!/bin/sh\necho hi\n",
		ownCommand + "COPY --chmod=755 e.sh /e.sh\nENTRYPOINT [\"/e.sh\"]\n" +
			"CMD [\"sleep\", \"infinity\"]\n-- .devcontainer/e.sh --\n#!/bin/sh\necho hi\nexec \"$@\"\n"},
	{"list of conda's", `error SBX754 pip`, "FROM python:3.12\nCOPY r.txt /tmp/\nRUN pip install -r /tmp/r.txt\n" +
		"-- .devcontainer/r.txt --\nflask=3.0\n", "FROM python:3.12\nCOPY r.txt /tmp/\nRUN pip install -r /tmp/r.txt\n" +
		"-- .devcontainer/r.txt --\nflask==3.0\n"},
	{"https without certificates", `error SBX754 curl`,
		"FROM debian:12-slim\n" + apt + "--no-install-recommends curl\nRUN curl -fsSL https://example.com/x -o /x\n",
		"FROM debian:12-slim\n" + apt + "--no-install-recommends curl ca-certificates\nRUN curl -fsSL https://example.com/x -o /x\n"},
	{"apt-key of trixie", `error SBX749 apt-key`, "FROM debian:13\nCOPY k.gpg /k.gpg\nRUN apt-key add /k.gpg\n-- .devcontainer/k.gpg --\nx\n",
		"FROM debian:12\n" + apt + "gnupg\nCOPY k.gpg /k.gpg\nRUN apt-key add /k.gpg\n-- .devcontainer/k.gpg --\nx\n"},
	{"apt-key of an image for dev containers", `error SBX749 apt-key`,
		"FROM mcr.microsoft.com/devcontainers/base:debian-13\nRUN curl -fsSL https://example.com/k | apt-key add -\n",
		"FROM mcr.microsoft.com/devcontainers/base:debian-12\nRUN curl -fsSL https://example.com/k | apt-key add -\n"},
	{"packages as the image's user", `warning SBX751 apt-get`, "FROM quay.io/jupyter/scipy-notebook:2024-10-07\n" + apt + "graphviz\n",
		"FROM quay.io/jupyter/scipy-notebook:2024-10-07\nUSER root\n" + apt + "graphviz\nUSER jovyan\n"},
	{"owner that a later step makes", `error SBX703 app:app`,
		"FROM python:3.12-slim\nCOPY --chown=app:app r.txt /srv/\nRUN useradd -m app\nUSER app\n-- .devcontainer/r.txt --\nflask\n",
		"FROM python:3.12-slim\nRUN useradd -m app\nCOPY --chown=app:app r.txt /srv/\nUSER app\n-- .devcontainer/r.txt --\nflask\n"},
	{"useradd beside packages that are not known", `warning SBX749 groupadd`,
		"FROM alpine:3.20\nRUN apk add --no-cache hugo gcompat\nRUN groupadd dev && useradd -m -g dev dev\n",
		"FROM alpine:3.20\nRUN apk add --no-cache hugo gcompat shadow\nRUN groupadd dev && useradd -m -g dev dev\n"},
	{"script with a file in /run", `warning SBX753 mkdir`, ownCommand + "COPY --chmod=755 e.sh /e.sh\nENTRYPOINT [\"/e.sh\"]\n" +
		"CMD [\"sleep\", \"infinity\"]\n-- .devcontainer/e.sh --\n#!/bin/sh\nmkdir -p /var/run/worker\n",
		ownCommand + "COPY --chmod=755 e.sh /e.sh\nENTRYPOINT [\"/e.sh\"]\n" +
			"CMD [\"sleep\", \"infinity\"]\n-- .devcontainer/e.sh --\n#!/bin/sh\nmkdir -p /var/run/worker\n/opt/worker run\n"},
	{"su in a step", `warning SBX734 su`, "FROM debian:12\nRUN su nobody\n", "FROM debian:12\nRUN su nobody -s /bin/sh -c true\n"},
	{"PATH between single quotes", `warning SBX747 '`, "FROM debian:12\nENV PATH='/opt/bin:$PATH'\n",
		"FROM debian:12\nENV PATH=\"/opt/bin:$PATH\"\n"},
	{"user of a variable", `warning SBX730 ${U}`, "FROM debian:12\nUSER ${U}\n", "FROM debian:12\nARG U=root\nUSER ${U}\n"},
	{"folder that a step gave away", `SBX751`, "", "FROM node:20\nRUN mkdir /app && chown node /app\nWORKDIR /app\nUSER node\n" +
		"COPY package.json ./\nRUN npm install\n-- .devcontainer/package.json --\n{}\n"},
}

func TestWrittenDocker(t *testing.T) { testPairs(t, writtenDocker) }

// A line that begins with no instruction is either one that is misspelt, or belongs to the line above.
func TestWrittenLineWithoutItsEnd(t *testing.T) {
	for line, want := range map[string]string{"    texlive-latex-extra make": `the line above may lack its \ at the end`,
		"RUNN true": `did you mean "RUN"?`} {
		hint := ""
		for _, f := range judge(t, written{files: "FROM debian:12\n" + apt + "git\n" + line + "\n"}.tree()) {
			if f.Rule == "SBX715" {
				hint = f.Hint
			}
		}
		if hint != want {
			t.Errorf("%s: %q", line, hint)
		}
	}
}
