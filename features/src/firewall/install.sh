#!/bin/sh
# Puts sbx-init and the policy into the image. The options arrive as variables.
set -eu
cd "$(dirname "$0")"
fail() { echo "firewall: error: $1" >&2; exit 1; }

[ "$(id -u)" = 0 ] || fail "a Feature is installed as root"
# Root of this container has NET_ADMIN, which the firewall needs, and could take
# every rule away. A user that a later Feature makes is not known yet, nor root.
user=${_REMOTE_USER:-root}
if [ "$user" = root ] || [ "$(id -u "${user%%:*}" 2>/dev/null)" = 0 ]; then
  fail "the agent would be root and could undo the firewall; set remoteUser to another user of the image"
fi
command -v apt-get >/dev/null || fail "this image is not of Debian's family"
case "$(dpkg --print-architecture)" in
  amd64 | arm64) arch=$(dpkg --print-architecture) ;;
  *) fail "there is no sbx-init for $(dpkg --print-architecture)" ;;
esac

export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends ca-certificates ipset iptables
rm -rf /var/lib/apt/lists/*

gzip -dc "sbx-init-linux-$arch.gz" >/usr/local/sbin/sbx-init
chmod 0755 /usr/local/sbin/sbx-init
mkdir -p /usr/local/share/sbx /etc/sbx
cp entrypoint.sh /usr/local/share/sbx/entrypoint.sh
chmod 0755 /usr/local/share/sbx/entrypoint.sh

# list OPTION VALUE: the entries as JSON texts. What no entry may hold is
# refused, so that a value stays a value.
list() {
  case "$2" in *[!A-Za-z0-9.*:/,_\[\]\ -]*) fail "$1 holds a character that no entry has: $2" ;; esac
  printf '%s' "$2" | tr ',' '\n' | sed -e 's/^ *//' -e 's/ *$//' -e '/^$/d' -e 's/.*/"&"/' | paste -sd, -
}
presets=$(list presets "${PRESETS-anthropic,github,vscode}")
allow=$(list allow "${ALLOW-}")
deny=$(list deny "${DENY-}")
private=$(list private "${PRIVATE-}")
cat >/etc/sbx/sandbox.jsonc <<POLICY
{
  "network": {
    "mode": "allowlist",
    "presets": [$presets],
    "allow": [$allow],
    "deny": [$deny],
    "private": [$private]
  }
}
POLICY
chmod 0644 /etc/sbx/sandbox.jsonc
/usr/local/sbin/sbx-init plan --policy /etc/sbx/sandbox.jsonc >/dev/null

# Whoever starts this waits for the firewall of this very start, which the first
# process's starting time names: the Feature's own lifecycle commands, which come
# before anybody else's, and login shells, with which editors and the dev
# container CLI start, so that no start-up file of the agent's runs before it.
cat >/usr/local/share/sbx/wait.sh <<'WAIT'
sbx_up=/run/sbx/up-$(sed 's/.*) //' /proc/1/stat | cut -d' ' -f20)
sbx_tries=300
until [ -e "$sbx_up" ]; do
  sbx_tries=$((sbx_tries - 1))
  if [ "$sbx_tries" -lt 0 ]; then echo "the firewall is not up; see the log of the container" >&2; exit 1; fi
  sleep 0.1
done
unset sbx_tries sbx_up
# Behind a verified firewall Claude takes the folder for trusted.
if [ -d /etc/sbx/verified ]; then export CLAUDE_CODE_SANDBOXED=1; fi
# Why the container was ended the last time, if sbx-init did it.
case $- in *i*)
  if [ -z "${sbx_told:-}" ] && [ -r /run/sbx/last-end.txt ]; then sbx_told=1; cat /run/sbx/last-end.txt >&2; fi
esac
WAIT
mkdir -p /etc/profile.d /var/lib/sbx
echo '. /usr/local/share/sbx/wait.sh' >/etc/profile.d/00-sbx.sh
if [ -f /etc/bash.bashrc ]; then echo '. /usr/local/share/sbx/wait.sh' >>/etc/bash.bashrc; fi
if [ -d /etc/zsh ]; then
  touch /etc/zsh/zshenv
  cat /etc/profile.d/00-sbx.sh /etc/zsh/zshenv >/etc/zsh/zshenv.new
  mv /etc/zsh/zshenv.new /etc/zsh/zshenv
fi
