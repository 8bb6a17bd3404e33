#!/usr/bin/env bash
# Gets a fresh Debian machine with Node ready for work on Hawser: Debian packages, npm packages,
# nats-server, a second PostgreSQL, and the agents that tests install. Installs only what is missing, says one line per
# item, and does nothing the second time.
set -euo pipefail
cd "$(dirname "$0")/.."

postgresql_floor=15
nats_floor=2.12.7

say() { printf '%s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2 && exit 1; }

# Whether version $1 is at least version $2.
at_least() { [ "$(printf '%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# The newest PostgreSQL server on the machine, or nothing.
postgresql_version() {
  local server
  for server in /usr/lib/postgresql/*/bin/postgres; do
    [ -x "$server" ] && basename "${server%/bin/postgres}"
  done | sort -n | tail -n 1
}

# The version of Debian package $1 that this machine has, or nothing.
version_of() {
  case $1 in
    postgresql) postgresql_version ;;
    ca-certificates | openssh-server | chromium-headless-shell) dpkg-query --show --showformat '${Version}' "$1" 2> /dev/null || true ;;
    tmux) if command -v tmux > /dev/null; then tmux -V | grep -oE '[0-9]+(\.[0-9]+)+' | head -n 1; fi ;;
    git | gh | curl | sudo) if command -v "$1" > /dev/null; then "$1" --version | grep -oE '[0-9]+(\.[0-9]+)+' | head -n 1; fi ;;
  esac
}

is_enough() {
  local version
  version=$(version_of "$1")
  [ -n "$version" ] && { [ "$1" != postgresql ] || at_least "$version" "$postgresql_floor"; }
}

# Tests start clusters and ssh servers of their own, so the packages must not create and start their
# default ones. The settings for that live in files of ours that are gone afterwards; the machine's
# own files are not touched.
files_for_now=()
trap 'rm -f "${files_for_now[@]}"' EXIT
keep_for_now() {
  mkdir -p "$(dirname "$1")"
  files_for_now+=("$1")
  cat > "$1"
}

install_packages() {
  local service_policy=/usr/sbin/policy-rc.d output
  case " $* " in
    *" postgresql "*)
      keep_for_now /etc/postgresql-common/createcluster.d/hawser-setup.conf <<< 'create_main_cluster = false'
      ;;
  esac
  if [ ! -e "$service_policy" ]; then
    keep_for_now "$service_policy" <<< $'#!/bin/sh\nexit 101'
    chmod 755 "$service_policy"
  fi
  export DEBIAN_FRONTEND=noninteractive
  output=$(apt-get -qq update 2>&1 && apt-get -qq install --no-install-recommends "$@" 2>&1) || fail "$output"
  # Nor at the next boot.
  case " $* " in *" openssh-server "*) update-rc.d ssh disable > /dev/null 2>&1 || true ;; esac
}

set_up_packages() {
  local package missing=()
  for package in postgresql git gh curl ca-certificates openssh-server sudo tmux chromium-headless-shell; do
    if is_enough "$package"; then
      say "$package $(version_of "$package"): found"
    else
      missing+=("$package")
    fi
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get > /dev/null || fail "install ${missing[*]} (PostgreSQL $postgresql_floor or later) by hand: there is no apt-get here."
  [ "$(id -u)" = 0 ] || fail "install what is missing as root, then run this again: apt-get install ${missing[*]}"
  install_packages "${missing[@]}"
  for package in "${missing[@]}"; do
    is_enough "$package" || fail "$package is installed but too old or not found; PostgreSQL must be $postgresql_floor or later."
    say "$package $(version_of "$package"): installed"
  done
}

set_up_npm() {
  local stamp=node_modules/.setup-stamp lock done=found
  command -v npm > /dev/null || fail "install Node with npm; any version that runs npm will do."
  lock=$(sha256sum < package-lock.json)
  if [ "$(cat "$stamp" 2> /dev/null || true)" != "$lock" ]; then
    # Without the level, npm warns that the machine's own Node is old; ours comes with this install.
    npm ci --loglevel=error > /dev/null
    echo "$lock" > "$stamp"
    done=installed
  fi
  say "npm packages: $done"
  say "node $(node_modules/.bin/node --version | tr -d v): $done"
}

nats_version() { .tools/nats-server --version 2> /dev/null | grep -oE '[0-9]+(\.[0-9]+)+' || true; }

set_up_nats() {
  local version done=found
  version=$(nats_version)
  if [ -z "$version" ] || ! at_least "$version" "$nats_floor"; then
    bash scripts/fetch-nats.sh .tools
    version=$(nats_version)
    at_least "${version:-0}" "$nats_floor" || fail "nats-server ${version:-} was fetched, but $nats_floor or later is needed."
    done=fetched
  fi
  say "nats-server $version: $done"
}

# A second major version, for the test of upgrades. Packages of hawser do not contain it.
set_up_second_postgresql() {
  local folder=.tools/postgres-17 done=found
  if [ ! -x "$folder/bin/postgres" ]; then
    bash scripts/fetch-postgres.sh "$folder"
    done=fetched
  fi
  say "postgresql $("$folder/bin/postgres" --version | grep -oE '[0-9]+(\.[0-9]+)+' | head -n 1): $done"
}

set_up_packages
# It waits for the network most of the time, and npm packages need the processor.
{ set_up_nats; set_up_second_postgresql; } &
engines=$!
set_up_npm
wait "$engines"
# The agents that tests install: 310 MB, fetched once.
node_modules/.bin/node scripts/agents.ts fetch
