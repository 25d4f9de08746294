# shellcheck shell=bash
# Base images for scripts/setup, which sources this file: those in the engine,
# otherwise pulled, otherwise stand-ins made of Debian's packages and npm's
# Node. A stand-in has the same name, so Dockerfiles need no change; its label
# claude-sandbox.stand-in=true tells it apart.
#
# A machine whose HTTPS passes through an authority of its own needs that
# authority inside containers too. Only stand-ins carry it: nothing the product
# writes knows of it.

: "${engine:?}" "${tools:?}" # set by scripts/setup
debian_image=debian:bookworm-slim
node_image=node:22-bookworm-slim
uv_image=ghcr.io/astral-sh/uv:0.9

base_images_present() { timeout 20 docker -H "$engine" image inspect "$debian_image" "$node_image" "$uv_image" >/dev/null 2>&1; }

base_images() {
  local image
  for image in "$debian_image" "$node_image" "$uv_image"; do
    timeout 20 docker -H "$engine" image inspect "$image" >/dev/null 2>&1 && continue
    say "pulls $image (base of the generated Dockerfiles)"
    timeout 120 docker -H "$engine" pull -q "$image" >"$tools/pull.log" 2>&1 9>&- && continue
    say "cannot pull it ($(tail -n1 "$tools/pull.log" | cut -c1-120)); makes a stand-in"
    case $image in
      "$debian_image") debian_stand_in ;;
      "$node_image") node_stand_in ;;
      "$uv_image") uv_stand_in ;;
    esac
  done
}

# debian_sources prints apt sources for bookworm, taken from this machine's own
# and over plain HTTP, which needs no certificates: apt checks signatures.
debian_sources() {
  local uri
  # shellcheck disable=SC2016 # the $(…) are apt's
  while read -r uri; do
    uri=$(sed 's|^https:|http:|; s|^mirror+||; s|/*$||' <<<"$uri")
    case $uri in
      *security*) echo "deb $uri bookworm-security main" ;;
      *) printf 'deb %s bookworm main\ndeb %s bookworm-updates main\n' "$uri" "$uri" ;;
    esac
  done < <(apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)|$(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
    awk -F'|' '$1 == "Debian" && $3 == "main" {print $2}' | sort -u)
}

debian_stand_in() {
  local tar=$tools/debian-bookworm.tar sources work
  if [ ! -s "$tar" ]; then
    if ! have apt-get || ! root; then
      fail "cannot pull $debian_image, and making it out of packages needs root on Debian" \
        "let the engine reach a registry (docker pull $debian_image must work), then run scripts/setup again"
    fi
    have mmdebstrap || apt_install mmdebstrap
    sources=$(debian_sources)
    [ -n "$sources" ] || fail "cannot pull $debian_image, and this machine's apt sources name no Debian mirror" \
      "let the engine reach a registry (docker pull $debian_image must work), then run scripts/setup again"
    say "mmdebstrap: $debian_image out of Debian's packages (about 15 s, once)"
    # In memory where there is room: dpkg syncs every file to the disk.
    work=/tmp
    [ "$(df --output=avail -k /dev/shm 2>/dev/null | tail -n1)" -gt 1500000 ] 2>/dev/null && work=/dev/shm
    # shellcheck disable=SC2016 # "$1" is the hook's
    # The paths that the published slim image leaves out, too.
    TMPDIR=$work mmdebstrap --mode=root --variant=minbase --format=tar \
      --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
      --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
      --customize-hook='set -e; mkdir -p "$1/usr/local/share/ca-certificates" "$1/etc/ssl/certs"
        cp /usr/local/share/ca-certificates/*.crt "$1/usr/local/share/ca-certificates/" 2>/dev/null || true
        cp /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/" 2>/dev/null || true
        rm -rf "$1"/etc/apt/apt.conf.d/99mmdebstrap "$1"/var/lib/apt/lists/*' \
      bookworm "$tar.new" - <<<"$sources" >"$tools/mmdebstrap.log" 2>&1 9>&- ||
      fail "mmdebstrap failed: $(grep -m1 '^E:' "$tools/mmdebstrap.log" || tail -n1 "$tools/mmdebstrap.log")" "the full output is in $tools/mmdebstrap.log"
    mv "$tar.new" "$tar"
  fi
  docker -H "$engine" import --change 'LABEL claude-sandbox.stand-in=true' \
    --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
    --change 'CMD ["bash"]' "$tar" "$debian_image" >/dev/null
}

node_stand_in() {
  npm_tools
  say "builds $node_image from $debian_image and npm's Node"
  local modules=$tools/npm/node_modules dir version
  version=$(echo "$modules"/node-linux-*/bin/node)
  version=$("$version" --version | tr -d v)
  dir=$(mktemp -d)
  mkdir -p "$dir/root/usr/local/bin" "$dir/root/usr/local/lib/node_modules" "$dir/root/etc/ssl/certs"
  cp "$modules"/node-linux-*/bin/node "$dir/root/usr/local/bin/node"
  cp -r "$modules/npm" "$dir/root/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$dir/root/usr/local/bin/npm"
  ln -s ../lib/node_modules/npm/bin/npx-cli.js "$dir/root/usr/local/bin/npx"
  chmod 755 "$dir/root/usr/local/lib/node_modules/npm/bin/"*-cli.js
  cp /etc/ssl/certs/ca-certificates.crt "$dir/root/etc/ssl/certs/" 2>/dev/null || true
  # Like the published image: Node in /usr/local and a user "node" with uid 1000.
  cat >"$dir/Dockerfile" <<EOF
FROM $debian_image
COPY root/ /
RUN groupadd --gid 1000 node && useradd --uid 1000 --gid node --shell /bin/bash --create-home node
ENV NODE_VERSION=$version NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
LABEL claude-sandbox.stand-in=true
CMD ["node"]
EOF
  docker -H "$engine" build -q -t "$node_image" "$dir" >"$tools/node-image.log" 2>&1 9>&- || {
    rm -rf "$dir"
    fail "building the stand-in for $node_image failed: $(tail -n1 "$tools/node-image.log")" "the full output is in $tools/node-image.log"
  }
  rm -rf "$dir"
}

# uv_stand_in has the two programs by their names; they say what they are.
uv_stand_in() {
  local dir
  dir=$(mktemp -d)
  # shellcheck disable=SC2016 # the program expands it
  printf '#!/bin/sh\necho "${0##*/} 0.9.0 (stand-in)"\n' >"$dir/uv"
  chmod 755 "$dir/uv"
  cp "$dir/uv" "$dir/uvx"
  printf 'FROM scratch\nCOPY uv uvx /\nLABEL claude-sandbox.stand-in=true\n' >"$dir/Dockerfile"
  docker -H "$engine" build -q -t "$uv_image" "$dir" >"$tools/uv-image.log" 2>&1 9>&- ||
    { rm -rf "$dir"; fail "building the stand-in for $uv_image failed: $(tail -n1 "$tools/uv-image.log")"; }
  rm -rf "$dir"
}
