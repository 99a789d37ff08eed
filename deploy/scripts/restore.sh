#!/usr/bin/env bash
# Restores a backup of backup.sh on the same host name, port and server_id: Redis, database, binary logs, accounts.
# All nodes are stopped. Redis is stopped, and MariaDB runs.
#
#   restore.sh FOLDER
#     --redis-dir DIR              the folder `dir` of the stopped Redis; it must have no append-only folder
#     --without-redis              leaves Redis as it is. If it is empty, nodes restore partitions from the rows
#     --to-time 'YYYY-MM-DD HH:MM:SS'
#                                  repeats the changes before this second, UTC; default: all changes in FOLDER/binlog
#     --replace                    drops the existing database first. Keep a copy: backup.sh --no-redis OTHER
#     --recover                    waits until Redis runs, then runs `stampede recover --restored`; it needs the
#                                  environment of a node. STAMPEDE is the path of the program
#
# Example, after the loss of both stores, up to the second before a mistake:
#
#   systemctl stop redis-server && mv /var/lib/redis/appendonlydir /var/lib/redis/appendonlydir.lost
#   restore.sh --redis-dir /var/lib/redis --to-time '2026-11-11 12:04:59' /backup/monday
#   systemctl start redis-server && stampede recover --restored && systemctl start stampede
#
# BACKUP_MYCNF and BACKUP_REDIS are those of backup.sh; the database account needs all rights. Accounts receive the
# passwords and rights of the backup; other accounts stay. Files of secrets are not restored.
set -euo pipefail
umask 077

clients=(${BACKUP_MYCNF:+"--defaults-file=$BACKUP_MYCNF"}) # must be the first argument
read -ra redis_options <<<"${BACKUP_REDIS:-}"

say() { printf '%s\n' "$*" >&2; }
fail() { say "restore.sh: $*" && exit 1; }
# sql prints no failed statement, because it contains data.
sql() { mariadb "${clients[@]}" --batch --skip-column-names "$@" 2> >(grep '^ERROR' >&2); }
# fact NAME FILE: prints a value of a manifest.
fact() { sed -n "s/^# $1: //p" "$2"; }
redis_replies() { redis-cli "${redis_options[@]}" PING >/dev/null 2>&1; }
redis_is_ready() { [[ $(redis-cli "${redis_options[@]}" PING 2>/dev/null) == PONG ]]; }

check_backup() {
  [[ -f $folder/MANIFEST && $folder != *.partial ]] || fail "$folder is not a complete backup"
  (cd "$folder" && sha256sum --check --strict --quiet MANIFEST) >&2 || fail "a file of $folder has changed"
  database=$(fact database "$folder/MANIFEST")
  [[ -n $database && $(tail -n 1 "$folder/database.sql") == '-- Dump completed on '* ]] || fail 'the dump is incomplete'
}

# check_logs sets logs: the files from the log of the dump on, without a gap. Without a copy, logs is empty.
check_logs() {
  local first number name from=$folder/binlog
  logs=()
  if [[ ! -f $from/MANIFEST ]]; then
    [[ -z $to_time ]] || fail "--to-time needs binary logs, and $folder/binlog has none"
    return 0
  fi
  (cd "$from" && sha256sum --check --strict --quiet MANIFEST) >&2 || fail "a file of $from has changed"
  read -r first position <<<"$(fact binlog "$folder/MANIFEST")"
  number=${first##*.}
  while IFS= read -r name; do
    [[ $name == "${first%.*}.$number" ]] || fail "$from/${first%.*}.$number is missing"
    logs+=("$from/$name")
    number=$(printf "%0${#number}d" $((10#$number + 1)))
  done < <(sed -n 's/^[0-9a-f]\{64\}  .\///p' "$from/MANIFEST" | sort -V)
  [[ -n $to_time ]] || return 0
  [[ ! $to_time < $(fact dumped "$folder/MANIFEST") ]] ||
    fail "--to-time is before the end of the backup, $(fact dumped "$folder/MANIFEST") UTC: use an older backup"
  [[ ! $to_time > $(fact time "$from/MANIFEST") ]] ||
    fail "the copied binary logs end at $(fact time "$from/MANIFEST") UTC: use an earlier time, or omit --to-time"
}

check_servers() {
  local sessions tables
  sessions=$(sql -e "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB='$database' AND ID<>CONNECTION_ID()")
  ((!sessions)) || fail "$sessions sessions use the database $database: stop all nodes"
  tables=$(sql -e "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA='$database'")
  ((!tables || replace)) || fail "the database $database has $tables tables: see --replace in --help"
  ((!${#logs[@]})) || [[ $(sql -e 'SELECT @@gtid_strict_mode') == 0 ]] ||
    fail 'gtid_strict_mode rejects old changes: SET GLOBAL gtid_strict_mode=OFF until the restore has ended'
  [[ -n $redis_dir ]] || return 0
  ! redis_replies || fail 'Redis runs: stop it first'
  append_only=$(find "$folder/redis" -mindepth 1 -maxdepth 1 -printf %f 2>/dev/null) || fail 'the backup has no Redis'
  [[ -d $redis_dir ]] || fail "$redis_dir is not a folder"
  [[ ! -e $redis_dir/$append_only ]] || fail "$redis_dir/$append_only exists: move it elsewhere"
}

# restore_redis gives the files to the owner of the folder, because Redis has its own account.
restore_redis() {
  local new=$redis_dir/$append_only.partial
  rm -rf "$new"
  cp -r "$folder/redis/$append_only" "$new"
  ((EUID != 0)) || chown -R --reference="$redis_dir" "$new"
  sync -f "$new"
  mv "$new" "$redis_dir/$append_only"
  say "Redis: $redis_dir/$append_only is restored"
}

# restore_database repeats only changes of this database, because other databases of the server keep their rows.
restore_database() {
  local until=(${to_time:+"--stop-datetime=$to_time"})
  trap 'say "restore.sh: the database is INCOMPLETE. Start no node. Repeat it: --replace --without-redis"' EXIT
  ((!replace)) || sql -e "DROP DATABASE IF EXISTS \`$database\`"
  sql <"$folder/database.sql"
  if ((${#logs[@]})); then
    TZ=UTC mariadb-binlog --no-defaults --database="$database" --start-position="$position" "${until[@]}" "${logs[@]}" |
      sql
    say "database: restored up to ${to_time:-$(fact time "$folder/binlog/MANIFEST")} UTC"
  else
    say "database: restored up to $(fact time "$folder/MANIFEST") UTC. Later changes are lost: no binary logs"
  fi
  trap - EXIT
}

# restore_accounts is last, because it can change the password of its own account. Failed statements contain hashes of
# passwords, so only the lines of errors are printed.
restore_accounts() {
  local errors
  errors=$(sed "\$aFLUSH PRIVILEGES;" "$folder/accounts.sql" | sql --force mysql 2>&1 | grep '^ERROR') || return 0
  say "WARNING: some statements of $folder/accounts.sql failed:"
  say "$errors"
}

recover() {
  redis_is_ready || say 'start Redis now'
  until redis_is_ready; do sleep 0.5; done
  "${STAMPEDE:-stampede}" recover --restored
  say 'Next: 1. start one node   2. stampede audit   3. start the other nodes   4. make a new backup'
}

next_steps() {
  say 'Next: 1. start Redis   2. stampede recover --restored   3. start one node   4. stampede audit'
  say '      5. start the other nodes   6. make a new backup: the binary logs of the old one end here'
}

folder='' redis_dir='' without_redis=0 to_time='' replace=0 then=next_steps
while (($#)); do
  case $1 in
  --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit ;;
  --redis-dir) redis_dir=${2:?--redis-dir needs a folder} && shift ;;
  --without-redis) without_redis=1 ;;
  --to-time) to_time=${2:?--to-time needs a time} && shift ;;
  --replace) replace=1 ;;
  --recover) then=recover ;;
  -*) fail "unknown option $1; see --help" ;;
  *) [[ -z $folder ]] || fail 'only one folder is possible; see --help'; folder=${1%/} ;;
  esac
  shift
done
[[ -n $folder ]] || fail 'the name of a folder is missing; see --help'
[[ $without_redis == 1 && -z $redis_dir || $without_redis == 0 && -n $redis_dir ]] ||
  fail 'give either --redis-dir DIR or --without-redis'
[[ -z $to_time || $to_time =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}\ [0-9]{2}:[0-9]{2}:[0-9]{2}$ ]] ||
  fail "--to-time '$to_time' is not YYYY-MM-DD HH:MM:SS (UTC)"
check_backup
check_logs
check_servers
[[ -z $redis_dir ]] || restore_redis
restore_database
restore_accounts
$then
