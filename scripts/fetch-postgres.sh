#!/usr/bin/env bash
# Fetches Debian trixie's PostgreSQL 17 into a folder without installing it, as a second major version for
# the test of upgrades. It needs a newer libc than bookworm has, so its libraries come with it, and a script
# for each program starts it with them. About 40 MB to download, 140 MB on disk.
# usage: fetch-postgres.sh FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$1.next" && mkdir -p "$1.next"
folder=$(cd "$1.next" && pwd)
final=${folder%.next}
trap 'rm -rf "$folder"' EXIT

packages="postgresql-17 postgresql-client-17 libpq5 libc6 libicu76 libxml2 libssl3t64 libzstd1 liblz4-1
  zlib1g libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 libcom-err2 libkeyutils1 libldap2
  libsasl2-2 libpam0g libaudit1 libselinux1 libsystemd0 libcap2 libcap-ng0 libstdc++6 libgcc-s1 liblzma5
  libreadline8t64 libtinfo6 libpcre2-8-0 libxxhash0"
# shellcheck disable=SC2086 # one word a package
bash "$here/unpack-debian.sh" trixie "$folder" $packages

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
