#!/usr/bin/env bash
# The newest stores from Debian's packages, in a private folder: MySQL 9, Redis 8 and Valkey 9. Nothing is installed on the
# machine and no engine for containers is needed: the packages are downloaded with all that they need, down to the C
# library, unpacked, and run with their own loader. What is there is used again; about 75 MB are downloaded, 400 MB unpacked.
#
#   stores.sh fetch [--anew]   downloads what is missing (--anew: everything, in its newest version)
#   stores.sh program NAME     prints the path of the server NAME: mysql9, redis8 or valkey9
#   stores.sh versions         a line per server
#
# The mirror and its keys are those of the machine's own sources of packages.
set -euo pipefail

folder=${XDG_CACHE_HOME:-$HOME/.cache}/stampede/matrix
suite=sid # the only suite with MySQL
packages=(mysql-server-core redis-server valkey-server)

# mirror prints where the machine takes Debian from, leaving the archives of updates and security aside.
mirror() {
  apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' |
    awk '$2 !~ /-/ && !found { print $1; found = 1 }'
}

# private_apt CMD…: apt-get that knows of one suite and of no installed package, with all its files in the folder.
private_apt() {
  APT_CONFIG=$folder/apt/apt.conf apt-get -q -y "$@"
}

write_apt() {
  local from
  from=$(mirror)
  [[ -n $from ]] || { echo 'this machine has no sources of Debian packages; run apt-get update' && return 1; }
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

# wrapper PROGRAM [ARGUMENT…]: a script that runs it with the loader and the libraries that came with it. The arguments
# come last: --defaults-file has to be a server's first.
wrapper() {
  local program=$1 libraries=$folder/root/usr/lib/$(uname -m)-linux-gnu
  local loader=("$libraries"/ld-linux*.so.*) file=$folder/bin/${1##*/}
  shift
  printf '#!/bin/sh\nexec %q --library-path %q %q "$@" %s\n' "${loader[0]}" "$libraries" "$folder/root/$program" "$*" >"$file"
  chmod +x "$file"
}

fetch() {
  [[ ${1:-} != --anew ]] || rm -rf "$folder"
  [[ ! -e $folder/complete ]] || return 0
  rm -rf "$folder/root" "$folder/bin"
  write_apt
  private_apt update
  private_apt --download-only --no-install-recommends install "${packages[@]}"
  mkdir -p "$folder/root" "$folder/bin"
  local package
  for package in "$folder"/apt/archives/*.deb; do
    dpkg-deb -x "$package" "$folder/root"
  done
  wrapper usr/sbin/mysqld "--basedir=$folder/root/usr --secure-file-priv=NULL"
  wrapper usr/bin/redis-server
  wrapper usr/bin/valkey-server
  versions
  rm -rf "$folder/apt"
  touch "$folder/complete"
}

program() {
  local file
  case ${1:-} in
  mysql9) file=$folder/bin/mysqld ;;
  redis8) file=$folder/bin/redis-server ;;
  valkey9) file=$folder/bin/valkey-server ;;
  *) echo "no such server: ${1:-}; there are mysql9, redis8 and valkey9" >&2 && return 2 ;;
  esac
  [[ -x $file ]] || { echo "$1 is not there yet: deploy/scripts/stores.sh fetch" >&2 && return 1; }
  echo "$file"
}

versions() {
  local name
  for name in mysqld redis-server valkey-server; do
    "$folder/bin/$name" --version | sed -E 's|^/.*/(mysqld)|\1|; s| (sha=\|for ).*||'
  done
}

case ${1:-} in
fetch | program | versions) "$@" ;;
*) sed -n '6,8s/^# *//p' "$0" >&2 && exit 2 ;;
esac
