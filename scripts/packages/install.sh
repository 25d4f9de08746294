# shellcheck shell=sh disable=SC2154 # of lib/fetch.sh, which stands before it

fail() {
  printf 'sbx-devc: error: %s\n' "$1" >&2
  [ -z "${2:-}" ] || printf 'sbx-devc: hint: %s\n' "$2" >&2
  exit 1
}

main() {
  case $(uname -s)/$(uname -m) in
    Linux/x86_64) file=sbx-devc-linux-amd64 sum=@SHA256:sbx-devc-linux-amd64@ ;;
    Linux/aarch64) file=sbx-devc-linux-arm64 sum=@SHA256:sbx-devc-linux-arm64@ ;;
    Darwin/x86_64) file=sbx-devc-darwin-amd64 sum=@SHA256:sbx-devc-darwin-amd64@ ;;
    Darwin/arm64) file=sbx-devc-darwin-arm64 sum=@SHA256:sbx-devc-darwin-arm64@ ;;
    *) fail "there is no sbx-devc for $(uname -s)/$(uname -m)" "it runs on Linux and macOS, and on Windows: scoop installs it there" ;;
  esac
  folder=${SBX_INSTALL_DIR:-${HOME:?}/.local/bin}
  mkdir -p "$folder" || fail "$folder cannot be made" "name a folder of yours in SBX_INSTALL_DIR"
  if has_sum "$folder/sbx-devc" "$sum"; then
    echo "sbx-devc @VERSION@ is in $folder already"
  else
    fetch "${CLAUDE_SANDBOX_MIRROR:-https://github.com}/@REPOSITORY@/releases/download/v@VERSION@/$file" "$sum" "$folder/sbx-devc" ||
      fail "$problem" "$hint"
    echo "installed sbx-devc @VERSION@ in $folder"
  fi
  case :$PATH: in
    *":$folder:"*) ;;
    *) echo "add $folder to your PATH, such as by a line in ~/.profile: PATH=\"$folder:\$PATH\"" ;;
  esac
}

# The last line: of a script that arrived in part nothing is done.
main
