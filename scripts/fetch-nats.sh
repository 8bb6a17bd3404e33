#!/usr/bin/env bash
# Fetches Debian sid's nats-server into a folder without installing it: Debian stable's is too old for
# us, and the newer binary asks only for libc6 >= 2.34.
# usage: fetch-nats.sh FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
if ! bash "$here/unpack-debian.sh" sid "$tree" nats-server; then
  echo "fetch-nats: put nats-server 2.12.7 or later into $1 by hand." >&2
  exit 1
fi
mkdir -p "$1"
install -m 755 "$tree/usr/sbin/nats-server" "$1/nats-server"
"$1/nats-server" --version
