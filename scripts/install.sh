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
fail() { printf '::error title=claude-sandbox install::%s\n' "$1"; exit 1; }

case $(uname -s)/$(uname -m) in
  Linux/x86_64 | Linux/aarch64) ;;
  *) fail "the Action runs on Linux runners (x64, arm64), not on $(uname -s)/$(uname -m)" ;;
esac

if [ -n "${CLAUDE_SANDBOX_BIN:-}" ]; then
  bin=$CLAUDE_SANDBOX_BIN
  [ -x "$bin" ] || fail "CLAUDE_SANDBOX_BIN is $bin, which cannot be executed"
else
  command -v go >/dev/null || fail "there is no Go on this runner to build sbx-devc with: add a step actions/setup-go before, or set CLAUDE_SANDBOX_BIN to an installed sbx-devc"
  # Not into the Action's own folder: two jobs of one machine may share it.
  bin=${RUNNER_TEMP:-/tmp}/claude-sandbox-bin/sbx-devc
  mkdir -p "${bin%/*}"
  # Images are published by whoever publishes the Action.
  repository=${ACTION_REPOSITORY:-}
  started=$SECONDS
  SBX_ORG=${repository%%/*} "$here/scripts/build" "$bin" || fail "building sbx-devc failed; the log above says why"
  echo "built sbx-devc in $((SECONDS - started)) s"
fi

run_id=gha-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')
{
  echo "bin=$bin"
  echo "run_id=$run_id"
} >>"${GITHUB_OUTPUT:?not in a workflow}"
