#!/usr/bin/env bash
# Fetches Debian sid's nats-server into a folder without installing it: Debian stable's is too old for
# us, and the newer binary asks only for libc6 >= 2.34. Needs no root.
# usage: fetch-nats.sh FOLDER
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)

# The mirror this machine already uses; the name ends in /debian/, beside security and third parties.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 -E '/debian/?$' || true)
if [ -z "$mirror" ]; then
  echo "fetch-nats: no Debian mirror among the apt sources; put nats-server 2.12.7 or later into $1 by hand." >&2
  exit 1
fi

# An apt of its own, so that sid never becomes a source of the machine.
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/sources"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keyring] $mirror sid main" > "$apt/sources/sid.list"
own_apt() {
  apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/sources" \
    -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" \
    -o APT::Sandbox::User="$(id -un)" "$@"
}
own_apt update
(cd "$apt" && own_apt download nats-server > /dev/null)
dpkg-deb -x "$apt"/nats-server_*.deb "$apt/tree"
install -m 755 "$apt/tree/usr/sbin/nats-server" "$folder/nats-server"
