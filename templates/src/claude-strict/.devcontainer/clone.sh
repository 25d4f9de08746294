#!/bin/sh
# Clones the repository in $1 into the folder $2, once. What is there already
# stays: the folder is a volume and outlives the container.
set -eu
# shellcheck source=/dev/null
. /etc/profile.d/00-sbx.sh
source=$1 target=$2
if [ -n "$(ls -A "$target")" ]; then exit 0; fi
if [ -e "$source/.git" ]; then
  # Not "origin": nothing can be pushed to a read-only folder.
  exec git clone --quiet --no-hardlinks --origin host "$source" "$target"
fi
exec cp -R "$source/." "$target"
