#!/bin/sh
# Raises the firewall at every start of the container, and ends the container if
# that fails. The dev container CLI's own first process runs this and goes on to
# the command afterwards, whatever the exit code; so a failure has to end it.
set -u
end() {
  echo "firewall: error: $1; the container ends" >&2
  kill -TERM 1
  kill -KILL "$PPID" 2>/dev/null
  exit 1
}
[ "$(id -u)" = 0 ] || end "the container's first process is not root's; set remoteUser instead of containerUser"

rm -f /run/sbx/up-*
{
  /usr/local/sbin/sbx-init run --policy /etc/sbx/sandbox.jsonc --sidecar
  # 71: somebody on the host took a read-only mount away, and what comes to that
  # place next could be written to. Everything ends here, and if the first
  # process does not want to, whatever it starts.
  [ $? = 71 ] && while :; do kill -TERM 1; kill -KILL -1; sleep 0.05; done
} &
init=$!
tries=600
until /usr/local/sbin/sbx-init status >/dev/null 2>&1; do
  kill -0 "$init" 2>/dev/null || end "sbx-init ended"
  tries=$((tries - 1))
  [ "$tries" -gt 0 ] || end "the firewall did not come up within a minute"
  sleep 0.1
done
: >"/run/sbx/up-$(sed 's/.*) //' /proc/1/stat | cut -d' ' -f20)"
