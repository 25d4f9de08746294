# shellcheck shell=sh disable=SC2034 # problem and hint are for whoever sources this
# A program of a release -> its place: whole and with the pinned SHA-256, or not at
# all. The Action's first step sources it; the script that installs sbx-devc for a
# person contains it. A function that fails sets problem and hint, a line each.

# openssl takes a quarter of the time: it uses the processor's instructions for it.
sha256_of() {
  { openssl dgst -sha256 -r "$1" || sha256sum "$1" || shasum -a 256 "$1"; } 2>/dev/null | cut -d ' ' -f 1
}

# has_sum FILE SUM: a file of its own, no link to one that somebody else may change.
has_sum() { [ -f "$1" ] && [ ! -L "$1" ] && [ "$(sha256_of "$1")" = "$2" ]; }

# fetch URL SUM FILE puts an executable into a folder that exists.
fetch() {
  new=$(mktemp "${3%/*}/.new.XXXXXXXX" 2>/dev/null) || {
    problem="${3%/*} cannot be written"
    hint="give this user the folder, or name another one"
    return 1
  }
  trap 'rm -f "$new"' EXIT
  trap 'exit 130' INT TERM
  fetched=1
  if download "$1" "$new"; then
    if ! has_sum "$new" "$2"; then
      problem="$1 has the SHA-256 $(sha256_of "$new"), and $2 is pinned; nothing was installed"
      hint="something between here and the release changes downloads, or the release was replaced: do not use it, and report it"
    elif chmod 755 "$new" && mv -f "$new" "$3"; then
      fetched=0
    else
      problem="$3 cannot be written"
      hint="give this user the folder, or name another one"
    fi
  fi
  rm -f "$new"
  trap - EXIT INT TERM
  return "$fetched"
}

# download URL FILE. Only a copy that somebody named may be without TLS: the sum is pinned.
download() {
  case $1 in
    https://*) schemes='=https' ;;
    *) schemes='=http,https' ;;
  esac
  hint="let this machine reach that host, name a proxy in HTTPS_PROXY, or a copy of the releases in CLAUDE_SANDBOX_MIRROR"
  if ! command -v curl >/dev/null; then
    words=$(wget -q -T 60 -O "$2" "$1" 2>&1) && return
    problem="$1 could not be fetched by wget: $(last_line "$words")"
    return 1
  fi
  # Its words come by standard error, the server's status by standard output.
  words=$(curl --proto "$schemes" --proto-redir "$schemes" --fail --silent --show-error --location --retry 3 --connect-timeout 10 \
    --max-time 60 --output "$2" --write-out '%{http_code}' "$1" 2>&1) && return
  case $(last_line "$words") in
    *404) problem="$1 is not there" hint="the release is not published yet, or was taken away: name another version" ;;
    *407) problem="$1: the proxy of this machine wants a password" hint="put it into HTTPS_PROXY" ;;
    *) problem="$1 could not be fetched: $(printf '%s\n' "$words" | grep -m 1 '^curl:' | tr -d '\r')" ;;
  esac
  return 1
}

last_line() { printf '%s\n' "$1" | tail -n 1 | tr -d '\r'; }
