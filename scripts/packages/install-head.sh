#!/bin/sh
# Installs sbx-devc on Linux or macOS, for the user that runs this, without root:
#
#   curl -fsSL ADDRESS/install.sh | sh
#   SBX_INSTALL_DIR=/usr/local/bin sh install.sh    into another folder than ~/.local/bin
#
# It holds the SHA-256 of each program, and writes one file.
set -eu

