# sbx:begin claude
COPY --from=claude /claude/claude /usr/local/bin/claude

# The version is pinned above, and a sandbox does not update itself.
ENV DISABLE_AUTOUPDATER=1 \
    DISABLE_UPDATES=1

# No program may lend root's rights, whatever the packages brought along.
RUN find / -xdev -perm /6000 -type f -exec chmod a-s {} +

# Claude asks nothing that the container answers: its theme, whether the folder is
# trusted, and for leave to use its tools, because the firewall is the boundary.
# Shift+tab and --permission-mode choose another mode. The settings count only while
# /etc/sbx/verified leads somewhere: sbx-init makes its target at each start, once the
# firewall is verified, and not in mode audit or host.
RUN set -eu; \
    mkdir -p /etc/claude-code /etc/sbx/if-verified; \
    ln -s /dev/sbx-verified /etc/sbx/verified; \
    ln -s /etc/sbx/verified/managed-settings.json /etc/claude-code/managed-settings.json; \
    echo '{"permissions":{"defaultMode":"bypassPermissions"},"skipDangerousModePermissionPrompt":true}' \
      >/etc/sbx/if-verified/managed-settings.json; \
    echo '{"hasCompletedOnboarding":true}' >/home/agent/.claude/.claude.json; \
    chown agent:agent /home/agent/.claude/.claude.json; \
    chmod 0600 /home/agent/.claude/.claude.json

# Claude reads this at its start, in every project, so that it knows a refusal
# of the firewall when it meets one.
RUN set -eu; \
    mkdir -p /etc/claude-code; \
    printf '%s\n' \
      'Network: you run in a sandbox whose firewall only lets allowlisted destinations through.' \
      'A refusal is final, comes at once and looks like this:' \
      '- a name that is not allowed does not resolve ("could not resolve host", DNS status REFUSED);' \
      '- a connection that is not allowed fails ("connection refused", "no route to host", "operation not permitted");' \
      '- a site that is not allowed, on an address that others use too, gets the TLS alert "access denied", or in plain HTTP a response 403 with the field X-Sandbox-Refused and the reason.' \
      'Do not retry a refused destination, look for mirrors or tunnels, or try to change the firewall.' \
      'Go on without it where you can, and say in the end which host names and ports were refused and what for.' \
      'Where they exist, /run/sbx/audit.jsonl lists every refusal with its reason, and "sbx-init check HOST:PORT" explains one and names the line that would allow it.' \
      >>/etc/claude-code/CLAUDE.md
# sbx:end claude
