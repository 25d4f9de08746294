#!/usr/bin/env bash
# The Action's first step: finds sbx-devc and names this run. Writes nothing but
# its two outputs: bin (path of the program) and run_id (names the containers).
#
#   CLAUDE_SANDBOX_BIN   use this program
#   otherwise            build from the Action's own source, which a workflow has
#                        pinned by naming the Action; needs Go
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

# A title and text of our own: nothing of a workflow's input comes this way.
fail() {
  printf '::error title=claude-sandbox install::%s\n' "$1"
  [ -z "${GITHUB_OUTPUT:-}" ] || printf 'conclusion=setup_error\nresult=%s\n' "$1" >>"$GITHUB_OUTPUT"
  exit 1
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
  Linux/x86_64 | Linux/aarch64) ;;
  *) fail "the Action runs on Linux runners (x64, arm64), not on $(uname -s)/$(uname -m)" ;;
esac

if [ -n "${CLAUDE_SANDBOX_BIN:-}" ]; then
  bin=$CLAUDE_SANDBOX_BIN
  [ -x "$bin" ] || fail "CLAUDE_SANDBOX_BIN is $bin, which cannot be executed"
else
  command -v go >/dev/null || fail "there is no Go on this runner to build sbx-devc with: add a step actions/setup-go before, or set CLAUDE_SANDBOX_BIN to an installed sbx-devc"
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
