#!/usr/bin/env bash
# The Action's first step: finds sbx-devc and names this run. Its outputs are bin
# (path of the program) and run_id (names the containers).
#
#   CLAUDE_SANDBOX_BIN   use this program
#   a release            the program that scripts/release.sums pins by its SHA-256: from
#                        the runner's tool cache, or downloaded into it. CLAUDE_SANDBOX_MIRROR
#                        is the address of a copy of github.com's releases
#   another commit       build from the Action's own source; needs Go
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib/fetch.sh
. "$here/scripts/lib/fetch.sh"

# fail PROBLEM [HINT]. Both are lines of our own, of curl's, and of the workflow's variables.
fail() {
  local text=${1//[$'\r\n']/ }${2:+; ${2//[$'\r\n']/ }}
  printf '::error title=claude-sandbox install::%s\n' "${text//%/%25}"
  [ -z "${GITHUB_OUTPUT:-}" ] || printf 'conclusion=setup_error\nresult=%s\n' "$text" >>"$GITHUB_OUTPUT"
  exit 1
}

# The sums of a release, as SUM  OWNER/REPOSITORY/releases/download/vVERSION/FILE;
# only the commit of a release has them.
sums=$here/scripts/release.sums

# from_release SUM PATH sets bin to the program, found or downloaded. The place is named by the sum,
# so that another release, or another publisher's, never has the same.
from_release() {
  local version=${2%/*} folder
  version=${version##*/}
  for folder in "${RUNNER_TOOL_CACHE:-}" "${RUNNER_TEMP:-}" "$(mktemp -d -u)"; do
    [ -n "$folder" ] || continue
    folder=$folder/claude-sandbox/${version#v}/$1
    bin=$folder/sbx-devc
    has_sum "$bin" "$1" && return
    # Such as a tool cache of another user: read above, and not written.
    mkdir -p "$folder" 2>/dev/null && [ -w "$folder" ] && break
  done
  [ ! -e "$bin" ] || echo "$bin is not the program that is pinned; it is replaced"
  local server=${CLAUDE_SANDBOX_MIRROR:-${GITHUB_SERVER_URL:-https://github.com}}
  # An Enterprise Server takes the Action from github.com where it has none of its own.
  fetch "${server%/}/$2" "$1" "$bin" ||
    { [ -z "${CLAUDE_SANDBOX_MIRROR:-}" ] && [ "$server" != https://github.com ] && fetch "https://github.com/$2" "$1" "$bin"; } ||
    fail "$problem" "$hint"
  echo "downloaded sbx-devc $version"
}

# build OUT makes sbx-devc from a private copy of the Action's source: the folder
# itself may be shared by jobs that install at the same time.
build() {
  local copy
  copy=$(mktemp -d "$temp/build.XXXXXXXX") || return
  # A checkout may be read-only; the build writes into its copy.
  tar -C "$here" --mode=u+w --exclude=./.git --exclude=./bin --exclude=./internal/carried/bin/*.gz -cf - . | tar -C "$copy" -xf - &&
    # Images are published by whoever publishes the Action.
    SBX_ORG=$org "$copy/scripts/build" "$1"
  local result=$?
  rm -rf "$copy"
  return $result
}

# whole FOLDER reports whether it holds a program that was built to its end.
whole() { [ -x "$1/sbx-devc" ] && (cd "$1" && sha256sum --status -c sum 2>/dev/null); }

case $(uname -s)/$(uname -m) in
  Linux/x86_64) arch=amd64 ;;
  Linux/aarch64) arch=arm64 ;;
  *) fail "the Action runs on Linux runners (x64, arm64), not on $(uname -s)/$(uname -m)" ;;
esac

if [ -n "${CLAUDE_SANDBOX_BIN:-}" ]; then
  bin=$CLAUDE_SANDBOX_BIN
  [ -x "$bin" ] || fail "CLAUDE_SANDBOX_BIN is $bin, which cannot be executed"
elif [ -e "$sums" ]; then
  read -r sum path < <(grep "/sbx-devc-linux-$arch\$" "$sums") || fail "$sums names no sbx-devc-linux-$arch" "use the tag of a release"
  from_release "$sum" "$path"
else
  command -v go >/dev/null || fail "this commit of the Action is no release, and there is no Go on this runner to build sbx-devc with" \
    "name a release, such as @v1, add a step actions/setup-go before, or set CLAUDE_SANDBOX_BIN to an installed sbx-devc"
  repository=${ACTION_REPOSITORY:-}
  org=${repository%%/*}
  temp=${RUNNER_TEMP:-$(mktemp -d)}/claude-sandbox-bin
  mkdir -p "$temp"
  # One program for each source and publisher; a second use in a job finds it.
  key=$({ printf '%s\n' "$org"; go version; cd "$here" && find . -path ./.git -prune -o -path ./bin -prune -o -path ./internal/carried/bin -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum; } | sha256sum)
  place=$temp/${key:0:32}
  if ! whole "$place"; then
    started=$SECONDS
    fresh=$(mktemp -d "$temp/new.XXXXXXXX")
    build "$fresh/sbx-devc" || fail "building sbx-devc failed; the log above says why"
    (cd "$fresh" && sha256sum sbx-devc >sum)
    # At once and whole; whoever was faster has made the same.
    mv -T "$fresh" "$place" 2>/dev/null || { whole "$place" && rm -rf "$fresh"; } || { rm -rf "$place" && mv -T "$fresh" "$place"; } || whole "$place" ||
      fail "$place cannot be written"
    echo "built sbx-devc in $((SECONDS - started)) s"
  fi
  bin=$place/sbx-devc
fi

run_id=gha-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')
{
  echo "bin=$bin"
  echo "run_id=$run_id"
} >>"${GITHUB_OUTPUT:?not in a workflow}"
