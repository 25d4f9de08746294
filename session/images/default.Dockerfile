# The image that a run takes where neither its user nor the project says which:
# the programs that most projects need. It holds neither Claude Code nor anything of
# the firewall's; a run brings both along.
FROM node:22-bookworm-slim
RUN set -eu; \
    export DEBIAN_FRONTEND=noninteractive; \
    apt-get update; \
    apt-get install -y --no-install-recommends \
      bash bind9-dnsutils bzip2 ca-certificates curl file g++ gcc git git-lfs iproute2 jq less libc6-dev make openssh-client patch \
      pkg-config procps python3 python3-dev python3-pip python3-venv ripgrep tzdata unzip xz-utils zip; \
    rm -rf /var/lib/apt/lists/*; \
    if command -v corepack >/dev/null; then corepack enable; fi
COPY --from=ghcr.io/astral-sh/uv:0.9 /uv /uvx /usr/local/bin/
# The system is read-only in a run, and each run has a home folder of its own:
# pip, uv and npm install there.
ENV LANG=C.UTF-8 \
    PATH=/home/agent/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    NPM_CONFIG_PREFIX=/home/agent/.local \
    PIP_BREAK_SYSTEM_PACKAGES=1
