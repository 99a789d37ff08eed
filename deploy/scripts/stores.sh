#!/usr/bin/env bash
# Provides stores in versions that are not installed: MySQL 9, Redis 8 and Valkey 9 from Debian unstable, MariaDB 11 and
# Valkey 8 from Debian stable. It installs nothing and needs no container engine. It downloads the packages and all
# their dependencies, including the C library, unpacks them into a private folder and runs them with their own loader.
# Complete folders are reused. The download is about 120 MB, 500 MB unpacked.
#
#   stores.sh fetch            downloads missing packages; with `--newest`, the newest version of every package
#   stores.sh program NAME     prints the path of the server NAME: mysql9, mariadb11, redis8, valkey8 or valkey9
#   stores.sh versions         prints one line per server
#
# The mirror and its keys are those of the machine's own package sources.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/stampede/matrix
declare -A packages=( # by suite
  [sid]='mysql-server-core redis-server valkey-server' # the only suite with MySQL
  [trixie]='mariadb-server-core mariadb-client-core valkey-server'
)

# mirror prints the Debian mirror of this machine. It ignores the archives of updates and security fixes.
mirror() {
  apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' |
    awk '$2 !~ /-/ && !found { print $1; found = 1 }'
}

# in_suite NAME: selects the suite for the commands that follow.
in_suite() { suite=$1 folder=$cache/$1; }

# private_apt CMD…: runs apt-get with one suite and no installed packages. All its files are in the folder of the suite.
private_apt() {
  APT_CONFIG=$folder/apt/apt.conf apt-get -q -y "$@"
}

write_apt() {
  local from
  from=$(mirror)
  [[ -n $from ]] || { echo 'no source of Debian packages found: run apt-get update' && return 1; }
  mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $from $suite main" >"$folder/apt/sources.list"
  : >"$folder/apt/status"
  cat >"$folder/apt/apt.conf" <<END
Dir::Etc::sourcelist "$folder/apt/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$folder/apt/lists";
Dir::State::status "$folder/apt/status";
Dir::Cache "$folder/apt";
Dir::Cache::archives "$folder/apt/archives";
Acquire::Languages "none";
APT::Install-Recommends "false";
APT::Sandbox::User "";
END
}

# wrapper FILE PROGRAM [ARGUMENT…]: writes a script that runs the program with the loader and the libraries of the
# suite. The arguments come last, because --defaults-file must be a server's first argument.
wrapper() {
  local file=$1 program=$2 libraries=$folder/root/usr/lib/$(uname -m)-linux-gnu
  local loader=("$libraries"/ld-linux*.so.*)
  shift 2
  printf '#!/bin/sh\nexec %q --library-path %q %q "$@" %s\n' "${loader[0]}" "$libraries" "$program" "$*" >"$file"
  chmod +x "$file"
}

# server PROGRAM [ARGUMENT…]: wraps a server in bin.
server() {
  local program=$1
  shift
  wrapper "$folder/bin/${program##*/}" "$folder/root/$program" "$@"
}

# mariadb wraps in place the programs that mariadb-install-db calls, then adds mariadbd and mariadb-install-db to bin.
mariadb() {
  local usr=$folder/root/usr program
  for program in sbin/mariadbd bin/my_print_defaults bin/resolveip; do
    mv "$usr/$program" "$usr/$program.unwrapped"
    wrapper "$usr/$program" "$usr/$program.unwrapped"
  done
  server usr/sbin/mariadbd.unwrapped "--basedir=$usr"
  mv "$folder/bin/mariadbd.unwrapped" "$folder/bin/mariadbd"
  printf '#!/bin/sh\nexec %q "$@" --basedir=%q\n' "$usr/bin/mariadb-install-db" "$usr" >"$folder/bin/mariadb-install-db"
  chmod +x "$folder/bin/mariadb-install-db"
}

fetch() {
  local name
  [[ ${1:-} != --newest ]] || rm -rf "$cache"
  for name in "${!packages[@]}"; do
    in_suite "$name"
    [[ -e $folder/complete ]] || unpack
  done
}

unpack() {
  rm -rf "$folder"
  write_apt
  private_apt update
  # shellcheck disable=SC2086
  private_apt --download-only --no-install-recommends install ${packages[$suite]}
  mkdir -p "$folder/root" "$folder/bin"
  local package
  for package in "$folder"/apt/archives/*.deb; do
    dpkg-deb -x "$package" "$folder/root"
  done
  server usr/bin/valkey-server
  case $suite in
  sid)
    server usr/sbin/mysqld "--basedir=$folder/root/usr --secure-file-priv=NULL"
    server usr/bin/redis-server
    ;;
  trixie) mariadb ;;
  esac
  rm -rf "$folder/apt"
  touch "$folder/complete"
}

program() {
  local file
  case ${1:-} in
  mysql9) file=$cache/sid/bin/mysqld ;;
  mariadb11) file=$cache/trixie/bin/mariadbd ;;
  redis8) file=$cache/sid/bin/redis-server ;;
  valkey8) file=$cache/trixie/bin/valkey-server ;;
  valkey9) file=$cache/sid/bin/valkey-server ;;
  *) echo "unknown server ${1:-}; use mysql9, mariadb11, redis8, valkey8 or valkey9" >&2 && return 2 ;;
  esac
  [[ -x $file ]] || { echo "$1 is not installed: run deploy/scripts/stores.sh fetch" >&2 && return 1; }
  echo "$file"
}

versions() {
  local name
  for name in mysql9 mariadb11 redis8 valkey8 valkey9; do
    "$(program "$name")" --version | sed -E 's,^/[^ ]*/([a-z]+)[.a-z]*,\1,; s, (sha=|for ).*,,'
  done
}

case ${1:-} in
fetch | program | versions) "$@" ;;
*) sed -n '7,9s/^# *//p' "$0" >&2 && exit 2 ;;
esac
