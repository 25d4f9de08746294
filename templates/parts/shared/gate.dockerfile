# sbx:begin gate
# The engine lets sessions in a moment before the firewall is up. A login shell
# reads the user's files, which the agent may have written for this moment; so
# it waits until the firewall is up, and gives up rather than go on.
# zsh reads /etc/zsh/zshenv before any file of the user's, and no profile.
# Behind a verified firewall Claude takes the folder for trusted.
# A shell also says why the container was ended the last time, if sbx-init did it, and
# where the project belongs to somebody else.
RUN set -eu; \
    mkdir -p /var/lib/sbx; \
    printf '%s\n' \
      'if [ -n "${SBX_WAIT_FOR:-}" ]; then' \
      '  sbx_tries=300' \
      '  until [ -e "$SBX_WAIT_FOR" ]; do' \
      '    sbx_tries=$((sbx_tries - 1))' \
      '    if [ "$sbx_tries" -lt 0 ]; then echo "the firewall is not up; see the log of the container" >&2; exit 1; fi' \
      '    sleep 0.1' \
      '  done' \
      '  unset sbx_tries' \
      'fi' \
      'if [ -d /etc/sbx/verified ]; then export CLAUDE_CODE_SANDBOXED=1; fi' \
      'case $- in *i*)' \
      '  if [ -z "${sbx_told:-}" ] && [ -r /run/sbx/last-end.txt ]; then sbx_told=1; cat /run/sbx/last-end.txt >&2; fi' \
      '  for sbx_dir in /workspaces/*; do' \
      '    if [ -d "$sbx_dir" ] && [ ! -w "$sbx_dir" ]; then' \
      '      echo "$sbx_dir is read-only for you: on the host, chown -R $(id -u):$(id -g) lets user $(id -u) change the project" >&2' \
      '    fi' \
      '  done' \
      '  unset sbx_dir' \
      'esac' >/etc/profile.d/00-sbx.sh; \
    if [ -f /etc/bash.bashrc ]; then echo '. /etc/profile.d/00-sbx.sh' >>/etc/bash.bashrc; fi; \
    if [ "$AGENT_SHELL" = zsh ]; then cat /etc/profile.d/00-sbx.sh /etc/zsh/zshenv >/tmp/zshenv; cat /tmp/zshenv >/etc/zsh/zshenv; rm /tmp/zshenv; fi
# sbx:end gate
