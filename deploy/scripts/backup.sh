#!/usr/bin/env bash
# Backs up a shop on the machine of its Redis: Redis first, then the database. The rows show missing data of an older
# Redis, but Redis does not show missing rows. restore.sh restores the backup.
#
#   backup.sh FOLDER             writes a complete backup to FOLDER, which must be new or empty
#     --no-redis                   without Redis: another machine or a cluster; nodes restore partitions from the rows
#     --secrets FILE               adds a file of secrets; repeat it for each file
#   backup.sh --binlog FOLDER    adds the closed binary logs since that backup; repeat it every few minutes
#
# Example, at night, and then by a timer until the next night:
#
#   backup.sh --secrets /etc/stampede/mysql --secrets /etc/stampede/jwt /backup/monday
#   backup.sh --binlog /backup/monday
#
# BACKUP_MYCNF       option file of the MariaDB clients; default: their usual files, such as ~/.my.cnf
# BACKUP_DATABASE    name of the database; default: stampede
# BACKUP_REDIS       options of redis-cli, such as '-h 10.0.0.5 -p 6380'; REDISCLI_AUTH contains the password
#
# The database account needs SELECT, LOCK TABLES, SHOW VIEW, EVENT, TRIGGER, RELOAD, BINLOG MONITOR, REPLICATION
# SLAVE, and SELECT on mysql.*. The Redis account needs CONFIG and INFO.
set -euo pipefail
umask 077

database=${BACKUP_DATABASE:-stampede}
clients=(${BACKUP_MYCNF:+"--defaults-file=$BACKUP_MYCNF"}) # must be the first argument
read -ra redis_options <<<"${BACKUP_REDIS:-}"
rewrites='' # the previous value of auto-aof-rewrite-percentage while this script has changed it
partial='' # the folder of the incomplete backup while this script writes it

say() { printf '%s\n' "$*" >&2; }
fail() { say "backup.sh: $*" && exit 1; }
sql() { mariadb "${clients[@]}" --batch --skip-column-names -e "$1"; }
# redis prints a reply. With -e it fails if the reply is an error.
redis() { redis-cli -e "${redis_options[@]}" --raw "$@"; }

allow_rewrites() {
  [[ -n $rewrites ]] || return 0
  redis CONFIG SET auto-aof-rewrite-percentage "$rewrites" >/dev/null ||
    say "set auto-aof-rewrite-percentage of Redis to $rewrites again: this script has set it to 0"
  rewrites=
}
cleanup() {
  allow_rewrites
  [[ -z $partial ]] || rm -rf "$partial"
}
trap cleanup EXIT

setting() { redis CONFIG GET "$1" | sed -n 2p; }
info() { redis INFO "$1" | tr -d '\r' | sed -n "s/^$2://p"; }

# copy_redis copies the append-only folder. A rewrite would replace its files, so none may run.
copy_redis() {
  local dir source deadline=$((SECONDS + 600))
  [[ $(setting appendonly) == yes ]] || fail 'Redis has appendonly no: set it to yes, or use --no-redis'
  dir=$(setting dir)
  source=$dir/$(setting appenddirname)
  # The folder belongs to this Redis, and not to another one with the same path on this machine.
  [[ /proc/$(info server process_id)/cwd -ef $dir && -r $source ]] ||
    fail "Redis does not use $source of this machine: run this script as root on its machine, or use --no-redis"
  rewrites=$(setting auto-aof-rewrite-percentage)
  redis CONFIG SET auto-aof-rewrite-percentage 0 >/dev/null
  until [[ $(info persistence aof_rewrite_in_progress)$(info persistence aof_rewrite_scheduled) == 00 ]]; do
    ((SECONDS < deadline)) || fail 'Redis still rewrites its append-only file after 10 minutes'
    sleep 0.2
  done
  mkdir "$partial/redis"
  cp -r "$source" "$partial/redis"
  diff <(cat "$source"/*.manifest) <(cat "$partial"/redis/*/*.manifest) >/dev/null ||
    fail 'a rewrite of the append-only file began during the copy: repeat the backup'
  allow_rewrites
}

# copy_database writes the rows and the accounts. The dump has the position in the binary log as a comment.
copy_database() {
  local position=()
  if [[ $(sql 'SELECT @@log_bin') == 1 ]]; then
    position=(--master-data=2)
    [[ $(sql 'SELECT @@binlog_format') == ROW ]] ||
      say 'WARNING: binlog_format is not ROW. A restore skips statements of sessions without a default database.'
  else
    say 'WARNING: log_bin is off. A restore to a point in time is impossible: changes after this backup have no copy.'
  fi
  mariadb-dump "${clients[@]}" --single-transaction --routines --events --triggers --hex-blob "${position[@]}" \
    --databases "$database" >"$partial/database.sql"
  # With skip_name_resolve the server ignores accounts of host names, and mariadb-dump cannot read them.
  mariadb-dump "${clients[@]}" --force --system=users --insert-ignore >"$partial/accounts.sql" ||
    say 'WARNING: accounts.sql lacks the accounts above'
  [[ $(tail -n 1 "$partial/accounts.sql") == '-- Dump completed on '* ]] || fail 'accounts.sql is incomplete'
}

copy_secrets() {
  local file
  for file in "${secrets[@]}"; do
    file=$(realpath "$file")
    mkdir -p "$partial/secrets${file%/*}"
    install -m 600 "$file" "$partial/secrets$file"
  done
  ((${#secrets[@]})) || say 'The backup has no secrets. Store keys, DSN and settings elsewhere, or use --secrets.'
}

# write_manifest writes the facts that a restore needs, as comments, and the checksums of all files.
write_manifest() {
  {
    printf '# %s\n' "time: $time" "dumped: $dumped" "database: $database" "mariadb: $version"
    ((!with_redis)) || printf '# redis: %s\n' "$(info server redis_version)"
    sed -nE "1,/^CREATE/s/^-- CHANGE MASTER TO MASTER_LOG_FILE='(.*)', MASTER_LOG_POS=([0-9]+);/# binlog: \1 \2/p" \
      "$partial/database.sql"
    (cd "$partial" && find . -type f ! -name MANIFEST -exec sha256sum {} +)
  } >"$partial/MANIFEST"
}

# full writes to FOLDER.partial and renames it at the end, so an incomplete backup never has the name of a complete one.
full() {
  [[ ! -e $folder || -z $(ls -A "$folder") ]] || fail "$folder is not empty: give the name of a new folder"
  version=$(sql 'SELECT VERSION()')
  [[ $version == *MariaDB* ]] || fail "the server, $version, is not MariaDB: use mysqldump --source-data=2"
  mkdir "$folder.partial" || fail "$folder.partial belongs to a running or killed backup, or its parent does not exist"
  partial=$folder.partial
  ((!with_redis)) || copy_redis
  time=$(sql 'SELECT UTC_TIMESTAMP()')
  copy_database
  dumped=$(sql 'SELECT UTC_TIMESTAMP()')
  copy_secrets
  write_manifest
  find "$partial" -type d -exec chmod 700 {} + -o -type f -exec chmod 600 {} +
  sync -f "$partial"
  mv -T "$partial" "$folder"
  partial=''
  sync -f "$(dirname "$folder")"
  say "$folder is complete: $(du -sh "$folder" | cut -f1)"
}

# binlog copies the logs that are closed after a flush, from the log of the dump on. A closed log does not change.
binlog() {
  local first name size copy=$folder/binlog new=$folder/binlog.partial logs=()
  first=$(sed -n 's/^# binlog: \(.*\) [0-9]*$/\1/p' "$folder/MANIFEST")
  [[ -n $first ]] || fail "$folder has no position in a binary log: log_bin was off"
  exec 9<"$folder"
  flock -n 9 || fail 'another copy runs'
  rm -rf "$new"
  mkdir -p "$copy" "$new"
  time=$(sql 'SELECT UTC_TIMESTAMP()')
  sql 'FLUSH BINARY LOGS'
  mapfile -t logs < <(sql 'SHOW BINARY LOGS' | sed -n "/^$first\t/,\$p" | head -n -1)
  ((${#logs[@]})) || fail "the server has deleted $first: make a complete backup"
  while read -r name size; do
    if [[ ! -e $copy/$name ]]; then
      mariadb-binlog "${clients[@]}" --read-from-remote-server --raw --result-file="$new/" "$name"
      chmod 600 "$new/$name"
      sync "$new/$name"
      mv "$new/$name" "$copy"
    fi
    [[ $(stat -c %s "$copy/$name") == "$size" ]] || fail "$copy/$name differs from the server: make a complete backup"
  done < <(printf '%s\n' "${logs[@]}")
  (echo "# time: $time" && cd "$copy" && find . -name '*.[0-9]*' -exec sha256sum {} +) >"$new/MANIFEST"
  sync "$new/MANIFEST"
  mv "$new/MANIFEST" "$copy"
  rmdir "$new"
  sync -f "$copy"
  say "$copy contains all changes before $time UTC"
}

folder='' task=full with_redis=1 secrets=()
while (($#)); do
  case $1 in
  --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit ;;
  --binlog) task=binlog ;;
  --no-redis) with_redis=0 ;;
  --secrets) secrets+=("${2:?--secrets needs a file}") && shift ;;
  -*) fail "unknown option $1; see --help" ;;
  *) [[ -z $folder ]] || fail 'only one folder is possible; see --help'; folder=${1%/} ;;
  esac
  shift
done
[[ -n $folder ]] || fail 'the name of a folder is missing; see --help'
$task
