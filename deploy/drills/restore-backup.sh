#!/usr/bin/env bash
# A backup of both stores is made during a sale and restored on other servers: Redis first, then the database. The rows
# include the orders that the copy of Redis lacks; the partitions are rebuilt from the rows.
# shellcheck source=deploy/drills/common.sh
source "$(dirname "$0")/common.sh"

backup=$TMPDIR/backup
mkdir "$backup"
node a api,worker,sweeper
crowd a
explain 'The backup during buys: first Redis (its append-only file, while no rewrite is running), then the database.'
show_output 'redis-cli CONFIG SET auto-aof-rewrite-percentage 0'
wait_output 30 'in_progress:0' "redis-cli INFO persistence | grep aof_rewrite_in_progress"
show_output "cp -r $(realpath "$TMPDIR/..")/redis/appendonlydir $backup && redis-cli CONFIG SET auto-aof-rewrite-percentage 100"
wait_output 20 '^[1-9]' "mariadb-dump --single-transaction --routines stampede > $backup/stampede.sql && wc -l < $backup/stampede.sql"
end_crowd
wait_for 60 settled
show_output "mariadb -N stampede -e 'SELECT COUNT(*) FROM orders'"

explain 'On another machine: an empty Redis, and an empty MariaDB with its own server_id. Start nodes only when both are restored.'
signal a TERM
redis_port=$(free_port) database_port=$(free_port) new=$TMPDIR/elsewhere
mkdir -p "$new/redis"
cp -r "$backup/appendonlydir" "$new/redis"
redis-server "$TMPDIR/../redis.conf" --port "$redis_port" --dir "$new/redis" >"$TMPDIR/redis.log" 2>&1 &
others+=($!)
as=()
((EUID != 0)) || as=(--user=root)
mariadb-install-db --defaults-file="$TMPDIR/../my.cnf" --datadir="$new/mariadb" "${as[@]}" \
  --auth-root-authentication-method=normal --skip-test-db --skip-name-resolve >"$TMPDIR/install.log" 2>&1
mariadbd --defaults-file="$TMPDIR/../my.cnf" --datadir="$new/mariadb" "${as[@]}" --port="$database_port" --server-id=2 \
  --socket=elsewhere.sock --pid-file=elsewhere.pid >"$TMPDIR/mariadb.log" 2>&1 &
others+=($!)
export STAMPEDE_REDIS_URL=redis://127.0.0.1:$redis_port STAMPEDE_MYSQL_DSN="root@tcp(127.0.0.1:$database_port)/stampede"
wait_for 60 mariadb -e 'SELECT 1'
wait_output 60 '^[1-9]' "mariadb -e 'CREATE DATABASE IF NOT EXISTS stampede' && mariadb stampede < $backup/stampede.sql && mariadb -N stampede -e 'SELECT COUNT(*) FROM orders'"
wait_output 20 'PONG' 'redis-cli ping'
node b api,worker,sweeper
show_output "log b | grep 'partition recovered'"
wait_output 60 '^[1-9][0-9]* sales audited, 0 failed$' 'stampede audit | tail -n 1'
explain 'The shop sells. Reconnected clients receive reset once and read their orders again.'
crowd b
wait_output 30 '^[1-9][0-9]{2,}$' "mariadb -N stampede -e 'SELECT COUNT(*) FROM orders'"
finish_drill
