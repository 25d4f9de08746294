ARG EXTRA_PACKAGES=${templateOption:extraPackages}
ARG AGENT_SHELL=${templateOption:shell}
ENV LANG=C.UTF-8 \
    TZ=${templateOption:timezone}
RUN set -eu; \
    export DEBIAN_FRONTEND=noninteractive; \
    apt-get update; \
    apt-get install -y --no-install-recommends -- $PACKAGES "$AGENT_SHELL" $(echo "$EXTRA_PACKAGES" | tr , ' '); \
    rm -rf /var/lib/apt/lists/*

# uid 1000 may be taken by a user of the base image. Git reads a repository of another
# user, such as the host's root: in this container nobody but the agent makes any.
RUN set -eu; \
    if user="$(id -un 1000 2>/dev/null)"; then userdel "$user"; fi; \
    useradd --create-home --uid 1000 --shell "/bin/$AGENT_SHELL" agent; \
    install -d -o agent -g agent -m 0700 /home/agent/.claude; \
    printf '[safe]\n\tdirectory = *\n' >>/etc/gitconfig
