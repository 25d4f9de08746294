# shellcheck shell=sh
# The engine lets sessions in a moment before the firewall is up. A login shell
# reads the user's files, which the agent may have written for this moment; so
# it waits until sbx-init has closed the network, and gives up rather than go on.
if [ -n "${SBX_WAIT_FOR:-}" ]; then
  sbx_tries=300
  until [ -e "$SBX_WAIT_FOR" ]; do
    sbx_tries=$((sbx_tries - 1))
    if [ "$sbx_tries" -lt 0 ]; then echo "the firewall is not up; see the log of the container" >&2; exit 1; fi
    sleep 0.1
  done
  unset sbx_tries
fi
