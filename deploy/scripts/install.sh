#!/usr/bin/env bash
# Installs missing dependencies of the tests: Redis, MariaDB, nginx, Chromium and a C compiler (for the race detector).
# On Debian it uses apt-get, as root or through sudo; on other systems it prints the list. It prevents packages from
# starting their servers, because the tests run private ones.
set -euo pipefail

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
packages=()
wanted=() # descriptions of these packages, for users of other systems

# need PROGRAM WORDS PACKAGE…: adds the packages to the list if the program is missing.
need() {
  local program=$1 words=$2
  shift 2
  if ! command -v "$program" >/dev/null; then
    packages+=("$@")
    wanted+=("$words")
  fi
}

need redis-server 'Redis 7' redis-server
need redis-cli 'redis-cli' redis-tools
need mariadbd 'MariaDB 10.11 server' mariadb-server
need mariadb-install-db 'mariadb-install-db' mariadb-server
need mariadb-admin 'mariadb-admin' mariadb-client
need nginx 'nginx' nginx
need curl 'curl' curl
need "${CHROMIUM:-chromium-headless-shell}" "Chromium (its headless shell; CHROMIUM names another)" chromium-headless-shell
need systemd-analyze 'systemd-analyze' systemd
need gcc 'a C compiler' gcc libc6-dev

if ((${#packages[@]} == 0)); then
  exit 0
fi
if ! command -v apt-get >/dev/null; then
  { printf 'Please install the missing programs; on Debian this script can install them:\n' && printf '  %s\n' "${wanted[@]}"; } >&2
  exit 1
fi
as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
    printf 'Please run as root: apt-get install %s\n' "${packages[*]}" >&2
    exit 1
  fi
  as_root=(sudo -n)
fi

# invoke-rc.d calls this file before it starts a service; exit status 101 forbids the start. An existing file is the
# machine's own policy: it stays, and a service starts if that policy allows it.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
  "${as_root[@]}" chmod +x "$policy"
fi

echo "installing ${packages[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
log=$(mktemp)
if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${packages[@]}"; } >"$log" 2>&1; then
  cat "$log" >&2
  rm -f "$log"
  echo "apt-get failed: see the output above" >&2
  exit 1
fi
rm -f "$log"
echo 'installed. The services redis-server, mariadb-server and nginx were not started; the tests start private servers.'
