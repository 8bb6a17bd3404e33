#!/bin/sh
# Installs hawserd, Hawser's daemon, for the user who runs it. It needs no root and opens no port.
#
#   curl -fsSL {{server}}/install.sh | HAWSER_TOKEN=… sh
#   curl -fsSL {{server}}/install.sh | HAWSER_TOKEN=… sh -s -- --root ~/projects
#
# It downloads the daemon and a Node of its own, checks both against a manifest signed by the
# publisher, places them in ~/.hawser, and hands over to `hawserd setup`: that writes ~/.hawser/policy,
# pairs this host, and starts the daemon, by your own systemd where there is one.
# `~/.hawser/bin/hawserd uninstall` removes all of it.
set -eu

server='{{server}}'
# Trusted publishers: Ed25519 public keys. Either may have signed a release.
key_1='{{key 1}}'
key_2='{{key 2}}'

say() { printf '%s\n' "$*"; }
fail() { printf 'install.sh: %s\n' "$*" >&2 && exit 1; }

read_options() {
  home=${HAWSER_HOME:-} as_root='' roots='' own='' people='' name=hawser
  while [ $# -gt 0 ]; do
    case $1 in
      --as-root) as_root=yes && shift && continue ;;
      --token | --root | --home | --separate | --people | --name) [ $# -gt 1 ] || fail "$1 needs a value." ;;
      *) fail "There is no option $1. There are --token, --root, --home, --as-root, --separate, --people and --name." ;;
    esac
    case $1 in
      --token) HAWSER_TOKEN=$2 ;;
      # One a line: a path may have spaces.
      --root) roots="$roots$2
" ;;
      --home) home=$2 ;;
      --separate) own=$2 ;;
      --people) people=$2 ;;
      --name) name=$2 ;;
    esac
    shift 2
  done
  [ -n "$home" ] || if [ -n "$own" ]; then home=/var/lib/$name; else home=$HOME/.hawser; fi
  case $home in
    /*) ;;
    *) fail "$home is not an absolute path. Set one with --home." ;;
  esac
  case $home in
    *[!A-Za-z0-9/._@+-]*) fail "$home contains characters that are not allowed in a service's path. Set another with --home." ;;
  esac
}

check_machine() {
  [ "$(uname -s)" = Linux ] || fail "Hawser runs on Linux; this is $(uname -s). Install it on a Linux host."
  case $(uname -m) in
    x86_64 | amd64) platform=linux-x64 ;;
    aarch64 | arm64) platform=linux-arm64 ;;
    *) fail "Hawser runs on x64 and arm64; this is $(uname -m). Install it on another host." ;;
  esac
  getconf GNU_LIBC_VERSION > /dev/null 2>&1 || fail "Hawser needs glibc, and this system has another C library (musl, most likely). Install it on Debian, Ubuntu, Fedora or the like."
  if [ "$(id -u)" = 0 ] && [ -z "$as_root$own" ]; then
    fail "Agents would run as root. Run this as the user whose projects they work on, or make one (useradd --create-home --shell /bin/bash hawser; su - hawser). To use root anyway, end the command with sh -s -- --as-root instead of sh."
  fi
  [ -z "$people" ] || [ -n "$own" ] || fail "--people belongs to --separate, which is missing. Add --separate and the user for the host's own logins."
  case $people in
    *[!0-9]*) fail "--people needs a number, and $people is none." ;;
  esac
  if [ -n "$own" ] && ! id -u "$own" > /dev/null 2>&1; then
    fail "There is no user $own. Make it (useradd --create-home --shell /bin/bash $own), then run the command again."
  fi
  [ -z "$own" ] || [ "$(id -u)" = 0 ] || fail "--separate makes Unix users, so it needs root. Run the command with sudo sh instead of sh."
  for tool in curl openssl gzip sha256sum; do
    package=$tool
    [ "$tool" != sha256sum ] || package=coreutils
    command -v "$tool" > /dev/null || fail "$tool is missing. Install it (apt-get install $package) and run this again."
  done
  openssl pkeyutl -help 2>&1 | grep -q rawin || fail "OpenSSL 3 or later is needed to check the signature; this is $(openssl version). Update it and run this again."
}

# download FILE INTO: downloads from the control plane, with a progress bar in a terminal.
download() {
  if [ -t 2 ]; then bar=--progress-bar; else bar=--silent; fi
  code=$(curl --fail --location --show-error "$bar" --connect-timeout 20 --speed-time 60 --speed-limit 1 --write-out '%{http_code}' --output "$2" "$server/releases/$1") && return
  # A release may lack the Node of a platform, because one is 45 MB.
  case $code$1 in
    404node-*) fail "$server does not have $1, so this platform cannot be installed. Nothing was changed. Ask its operator to copy this file from the npm package @hawser/node-$platform into the directory of HAWSER_RELEASES, and run this again." ;;
  esac
  fail "$1 could not be downloaded from $server. Check that the network works and the disk is not full ($(df -Ph "$work" | awk 'NR == 2 { print $4 }') free), and run this again."
}

is_signed_by() {
  printf -- '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA%s\n-----END PUBLIC KEY-----\n' "$1" > "$work/key.pem"
  openssl pkeyutl -verify -pubin -inkey "$work/key.pem" -rawin -in "$work/daemon.json" -sigfile "$work/daemon.json.sig" > /dev/null 2>&1
}

read_manifest() {
  say "Reading what $server publishes …"
  download daemon.json "$work/daemon.json"
  download daemon.json.sig "$work/daemon.json.sig"
  is_signed_by "$key_1" || is_signed_by "$key_2" ||
    fail "The release is not signed by its publisher. Nothing was installed. Inform the operator of $server."
  expires=$(field . expiresAt | tr -dc 0-9 | cut -c 1-14)
  [ "$(date -u +%Y%m%d%H%M%S)" -lt "$expires" ] ||
    fail "The release was good until $(field . expiresAt). If this machine's clock is right ($(date -u)), the operator of $server must publish it again."
  version=$(field . version)
  grep -q "\"$platform\": {" "$work/daemon.json" || fail "Version $version is not published for $platform. Ask the operator of $server for it."
  installed=$(readlink "$home/daemon/current" || true)
  if [ -n "$installed" ] && [ "$(printf '%s\n' "$installed" "$version" | sort -V | tail -n 1)" != "$version" ]; then
    fail "Version $installed is installed, and $version is older. To go back, uninstall first: $home/bin/hawserd uninstall"
  fi
}

# field SECTION NAME: a value of the manifest; the section is daemon or node of our platform, or `.`.
field() {
  if [ "$1" = . ]; then cat "$work/daemon.json"; else
    sed -n "/^    \"$platform\": {/,/^    }/p" "$work/daemon.json" | sed -n "/^      \"$1\": {/,/^      }/p"
  fi | sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\).*/\1/p" | head -n 1
}

# fetch SECTION WHAT: downloads a file of the manifest, and accepts it only if size and hash match.
fetch() {
  file=$(field "$1" file) size=$(field "$1" size)
  say "Downloading $2, $((size / 1048576 + 1)) MB …"
  download "$file" "$work/$file"
  [ "$(wc -c < "$work/$file")" -eq "$size" ] && [ "$(sha256sum < "$work/$file" | cut -d ' ' -f 1)" = "$(field "$1" sha256)" ] ||
    fail "$file is not what the publisher signed. Nothing was changed. Run this again; if it fails again, inform the operator of $server."
}

place_files() {
  node_version=$(field node version)
  node=$home/node/$node_version/node
  if [ ! -x "$node" ]; then
    fetch node "Node $node_version"
    gzip -dc "$work/$file" > "$work/node" || fail "Node could not be unpacked. Check that the disk is not full, and run this again."
    chmod 755 "$work/node"
    "$work/node" --version > /dev/null || fail "Node $node_version does not run on this system; it needs glibc 2.28 or later. Install Hawser on a newer one."
  fi
  fetch daemon "hawserd $version"
  cat > "$work/hawserd" <<EOF
#!/bin/sh
export HAWSER_HOME='$home'
exec '$home/daemon/current/node' '$home/daemon/current/hawserd.mjs' "\$@"
EOF
  chmod 755 "$work/hawserd"
  mkdir -p "$home/node/$node_version" "$home/daemon/$version" "$home/bin"
  [ -x "$node" ] || mv "$work/node" "$node"
  mv -f "$work/$file" "$home/daemon/$version/hawserd.mjs"
  mv -f "$work/hawserd" "$home/bin/hawserd"
  # Each version links to its Node, so that one pointer selects both.
  ln -sfn "../../node/$node_version/node" "$home/daemon/$version/node"
  ln -sfn "$version" "$home/daemon/current.next"
  mv -fT "$home/daemon/current.next" "$home/daemon/current"
  say "Placed hawserd $version in $home."
}

main() {
  read_options "$@"
  check_machine
  [ -n "${HAWSER_TOKEN:-}" ] || [ -f "$home/credentials.json" ] ||
    fail "This host is not paired, and the command has no token. Run the whole install command, as create_instance or regenerate_pairing_token returned it."
  own_umask=$(umask)
  umask 077
  host_home=$home
  # A daemon that was uninstalled leaves its empty directory, which belongs to its user.
  [ -z "$own" ] || rmdir "$home" 2> /dev/null || true
  if [ -n "$own" ] && [ -e "$home" ] && [ ! -O "$home" ] && [ ! -e "$home/separation.json" ]; then
    fail "$home has files of an earlier installation. Move them away, then run the command again."
  fi
  if [ -n "$own" ] && [ -e "$home/separation.json" ]; then
    # The directory belongs to the daemon's user. Root neither writes there nor runs programs from there.
    home=$(mktemp -d) || fail "There is no room for temporary files."
  fi
  mkdir -p "$home" || fail "$home cannot be created. Set another place with --home."
  work=$(mktemp -d "$home/install.XXXXXX.part") || fail "Nothing can be written into $home. Check that it belongs to you and that the disk is not full."
  trap 'rm -rf "$work"; [ "$home" = "$host_home" ] || rm -rf "$home"; rmdir "$home" 2> /dev/null || true' EXIT
  trap 'exit 1' HUP INT TERM
  read_manifest
  place_files
  rm -rf "$work"
  umask "$own_umask"
  export HAWSER_TOKEN="${HAWSER_TOKEN:-}"
  set --
  while read -r root; do
    [ -z "$root" ] || set -- "$@" --root "$root"
  done <<EOF
$roots
EOF
  if [ -z "$own" ]; then
    "$home/bin/hawserd" setup --server "$server" "$@" < /dev/null
  else
    # All users of this host start the programs.
    chmod -R go+rX "$home/bin" "$home/node" "$home/daemon"
    "$home/bin/hawserd" separate --state "$host_home" --own "$own" --name "$name" ${people:+--people "$people"} "$@" < /dev/null
    runuser -u "$name" -- "$host_home/bin/hawserd" setup --server "$server" < /dev/null
  fi
}

# Called in the last line, so that an incomplete download does nothing.
{ main "$@"; }
