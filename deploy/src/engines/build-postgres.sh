#!/usr/bin/env bash
# Builds PostgreSQL for an engine package: the unchanged upstream source of Debian's source package, without
# optional libraries, so that it needs libc and libm only and runs from any directory. Needs no root, and
# changes nothing outside FOLDER. The result lies in FOLDER/postgres-VERSION-PLATFORM; a second run finds it.
# usage: build-postgres.sh FOLDER [WORK]
set -euo pipefail
major=18
programs="postgres initdb pg_ctl pg_isready psql pg_dump pg_dumpall pg_restore pg_controldata pg_checksums pg_upgrade pg_resetwal vacuumdb"

fail() { printf 'build-postgres: %s\n' "$*" >&2 && exit 1; }
[ $# -ge 1 ] || fail "name the folder for the result."
mkdir -p "$1"
folder=$(cd "$1" && pwd)
case $(uname -s)-$(uname -m) in
  Linux-x86_64) platform=linux-x64 ;;
  Linux-aarch64) platform=linux-arm64 ;;
  *) fail "this machine is neither linux-x64 nor linux-arm64. Run it on a machine of the platform you build for." ;;
esac

missing=()
need() { command -v "$1" > /dev/null || missing+=("$2"); }
need gcc gcc && need make make && need bison bison && need flex flex && need perl perl
need bzip2 bzip2 && need strip binutils && need apt-get apt
zlib=$(gcc -print-file-name=libz.a 2> /dev/null || true)
[ -f "$zlib" ] || missing+=(zlib1g-dev)
[ ${#missing[@]} = 0 ] || fail "install what is missing, then run this again: apt-get install ${missing[*]}"

if [ $# -ge 2 ]; then
  work=$2 && mkdir -p "$work"
else
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
cd "$work"

# The mirror this machine already uses; the name ends in /debian/, beside security and third parties.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 -E '/debian/?$' || true)
[ -n "$mirror" ] || fail "no Debian mirror among the apt sources."
# An apt of its own, so that sid never becomes a source of the machine. apt checks the archive's signature,
# and by it the hash of every file of the source package.
mkdir -p apt/lists/partial apt/cache/archives/partial apt/sources source
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" > apt/sources/sid.list
own_apt() {
  apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/apt/sources" \
    -o Dir::State::lists="$work/apt/lists" -o Dir::Cache="$work/apt/cache" \
    -o APT::Sandbox::User="$(id -un)" "$@"
}
own_apt update
(cd source && own_apt source --download-only "postgresql-$major" > /dev/null)
tarball=$(ls source/postgresql-"$major"_*.orig.tar.bz2 | sort -V | tail -n 1)
version=$(basename "$tarball" .orig.tar.bz2)
version=${version#*_}
result=$folder/postgres-$version-$platform
if [ -x "$result/bin/postgres" ]; then
  echo "PostgreSQL $version is in $result."
  exit 0
fi

# Debian's patches move directories for its own layout, so the upstream source is built as it is.
mkdir -p tree static stage
tar -xf "$tarball" -C tree --strip-components=1
# A directory with the static library alone: the linker then cannot choose the shared one.
cp "$zlib" static/
(
  cd tree
  # The prefix is a name only: every program finds the rest relative to its own place. The compiler searches
  # the directories of LIBRARY_PATH after the system's, so the static library has to be named as an option.
  LDFLAGS="-L$work/static" \
    ./configure --quiet --prefix=/hawser-postgres --disable-rpath --without-icu --without-readline
  # The linker writes this as the place of libpq into every program.
  export LD_RUN_PATH='$ORIGIN/../lib'
  make --silent -j"${JOBS:-1}" -C src
  make --silent -C src install DESTDIR="$work/stage"
)

built=$work/stage/hawser-postgres
next=$result.next
rm -rf "$next"
mkdir -p "$next/bin" "$next/lib"
for program in $programs; do
  install -m 755 "$built/bin/$program" "$next/bin/"
done
# npm's packages carry no links, so the library gets the name that the programs look for.
install -m 755 "$built/lib/libpq.so.5" "$next/lib/libpq.so.5"
for module in "$built"/lib/*.so; do
  case $(basename "$module") in
    libpq.so | libecpg*.so | libpgtypes.so | libpgfeutils.so) ;;
    *) install -m 755 "$module" "$next/lib/" ;;
  esac
done
strip --strip-unneeded "$next"/bin/* "$next"/lib/*
cp -r "$built/share" "$next/share"
rm -rf "$next/share/doc" "$next/share/man"
cp tree/COPYRIGHT "$next/COPYRIGHT"
cp /usr/share/doc/zlib1g-dev/copyright "$next/COPYRIGHT.zlib"
# What libraries and which glibc the result needs is part of its description.
objdump -p "$next"/bin/* "$next"/lib/* | sed -n 's/^ *NEEDED *//p' | sort -u > "$next/NEEDED"
objdump -T "$next"/bin/* "$next"/lib/* | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1 >> "$next/NEEDED"
! grep -q libz "$next/NEEDED" || fail "zlib was linked as a shared library."
"$next/bin/postgres" --version > /dev/null
rm -rf "$result"
mv "$next" "$result"
echo "PostgreSQL $version is in $result."
