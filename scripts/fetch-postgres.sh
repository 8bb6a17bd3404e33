#!/usr/bin/env bash
# Fetches Debian trixie's PostgreSQL 17 into a folder without installing it, as a second major version for
# the test of upgrades. Needs no root. It asks for a newer libc than bookworm has, so its libraries come
# with it, and a script for each program starts it with them. About 40 MB to download, 140 MB on disk.
# usage: fetch-postgres.sh FOLDER
set -euo pipefail
rm -rf "$1.next" && mkdir -p "$1.next"
folder=$(cd "$1.next" && pwd)
final=${folder%.next}

mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 -E '/debian/?$' || true)
if [ -z "$mirror" ]; then
  echo "fetch-postgres: no Debian mirror among the apt sources." >&2
  exit 1
fi

# An apt of its own, so that trixie never becomes a source of the machine.
apt=$(mktemp -d)
trap 'rm -rf "$apt" "$folder"' EXIT
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/sources" "$apt/packages"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keyring] $mirror trixie main" > "$apt/sources/trixie.list"
own_apt() {
  apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/sources" \
    -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" \
    -o APT::Sandbox::User="$(id -un)" "$@"
}
own_apt update
packages="postgresql-17 postgresql-client-17 libpq5 libc6 libicu76 libxml2 libssl3t64 libzstd1 liblz4-1
  zlib1g libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 libcom-err2 libkeyutils1 libldap2
  libsasl2-2 libpam0g libaudit1 libselinux1 libsystemd0 libcap2 libcap-ng0 libstdc++6 libgcc-s1 liblzma5
  libreadline8t64 libtinfo6 libpcre2-8-0 libxxhash0"
# shellcheck disable=SC2086 # one word a package
(cd "$apt/packages" && own_apt download $packages > /dev/null)
for package in "$apt"/packages/*.deb; do dpkg-deb -x "$package" "$folder"; done

# Programs find their other files by the path of their own, so the scripts have the programs' places.
own=usr/lib/postgresql/17
mv "$folder/$own/bin" "$folder/$own/programs"
mkdir "$folder/$own/bin"
for program in "$folder/$own/programs"/*; do
  name=$(basename "$program")
  cat > "$folder/$own/bin/$name" << 'END'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
libraries=$here/../../../x86_64-linux-gnu
name=$(basename "$0")
exec "$libraries/ld-linux-x86-64.so.2" --argv0 "$here/$name" --library-path "$libraries" "$here/../programs/$name" "$@"
END
  chmod 755 "$folder/$own/bin/$name"
done
ln -s "$own/bin" "$folder/bin"
rm -rf "$final"
mv -T "$folder" "$final"
"$final/bin/postgres" --version
