#!/usr/bin/env bash
# Unpacks packages of a Debian suite into a folder without installing them, from the mirror that this machine
# already uses. Needs no root.
# usage: unpack-debian.sh SUITE FOLDER PACKAGE...
set -euo pipefail
suite=$1 folder=$2
shift 2

# The mirror's name ends in /debian/; beside it are the sources of security updates and third parties.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 -E '/debian/?$' || true)
if [ -z "$mirror" ]; then
  echo "unpack-debian: no Debian mirror among the apt sources." >&2
  exit 1
fi

# An apt of its own, so that the suite never becomes a source of the machine.
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/sources" "$apt/packages"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keyring] $mirror $suite main" > "$apt/sources/$suite.list"
own_apt() {
  apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/sources" \
    -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" \
    -o APT::Sandbox::User="$(id -un)" "$@"
}
own_apt update
(cd "$apt/packages" && own_apt download "$@" > /dev/null)
for package in "$apt"/packages/*.deb; do dpkg-deb -x "$package" "$folder"; done
