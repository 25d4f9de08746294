#!/bin/sh
# Puts Claude Code into the image, from npm, at a pinned checksum. The option arrives as
# a variable.
set -eu
fail() { echo "claude: error: $1" >&2; exit 1; }
version=2.1.329
integrity_x64=sha512-+n4lu1ubYAp02Y0X/MAUnxw9yY6SHHZ77F+IoW+V0wVoFuiI9opdH6gofjf14gXJCEYMTNpks7Gn1i8XZTKAWA==
integrity_arm64=sha512-IiG5umFToSCVWqB1lEsxxwIxKgxPXyZ3DRU915v8J4Bz5Q3JpslM0ew1m5yaT+lFXBPvYxmsEgi0XI68XHND0A==

[ "$(id -u)" = 0 ] || fail "a Feature is installed as root"
command -v apt-get >/dev/null || fail "this image is not of Debian's family"
case "$(dpkg --print-architecture)" in
  amd64) arch=x64 want=$integrity_x64 ;;
  arm64) arch=arm64 want=$integrity_arm64 ;;
  *) fail "there is no Claude Code for $(dpkg --print-architecture)" ;;
esac
packages=
if ! command -v curl >/dev/null || [ ! -d /etc/ssl/certs ]; then packages="ca-certificates curl"; fi
if ! command -v git >/dev/null; then packages="$packages git"; fi # without it Claude cannot commit
if [ -n "$packages" ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update
  # shellcheck disable=SC2086
  apt-get install -y --no-install-recommends $packages
  rm -rf /var/lib/apt/lists/*
fi
registry=${REGISTRY:-${NPM_CONFIG_REGISTRY:-}}
[ -n "$registry" ] || registry=$(npm config get registry 2>/dev/null) || registry=
domain=npmjs.org
[ -n "$registry" ] || registry=https://registry.$domain
name=claude-code-linux-$arch
package=$(mktemp)
curl -fsSL --retry 3 -o "$package" "${registry%/}/@anthropic-ai/$name/-/$name-$version.tgz"
got=sha512-$(sha512sum "$package" | cut -d' ' -f1 | tr -d '\n' | sed 's/../\\x&/g' | xargs -0 printf '%b' | base64 -w0)
[ "$got" = "$want" ] || fail "Claude Code is not what was pinned: got $got, want $want"
# The file can be run and not read: the kernel then closes the running program's
# memory, environment and open files to other programs of the same user.
tar -xzf "$package" -O package/claude >/usr/local/bin/claude
chmod 0111 /usr/local/bin/claude
rm "$package"

# A volume takes this folder's mode over. The user's id may change when the container
# is made, so it belongs to nobody in particular.
mkdir -p /var/lib/claude/.claude /usr/local/share/sbx-claude
chmod 1777 /var/lib/claude/.claude
cat >/usr/local/share/sbx-claude/first.sh <<'FIRST'
set -eu
umask 077
[ -e "$CLAUDE_CONFIG_DIR/.claude.json" ] || echo '{"hasCompletedOnboarding":true}' >"$CLAUDE_CONFIG_DIR/.claude.json"
FIRST

# Claude asks for leave to use its tools unless a firewall is the boundary. These
# settings count only while /etc/sbx/verified leads somewhere: sbx-init makes its
# target at each start, once the firewall is verified.
mkdir -p /etc/claude-code /etc/sbx/if-verified
[ -L /etc/sbx/verified ] || ln -s /dev/sbx-verified /etc/sbx/verified
echo '{"permissions":{"defaultMode":"bypassPermissions"},"skipDangerousModePermissionPrompt":true}' >/etc/sbx/if-verified/managed-settings.json
[ -e /etc/claude-code/managed-settings.json ] || ln -sf /etc/sbx/verified/managed-settings.json /etc/claude-code/managed-settings.json
