#!/usr/bin/env bash
# MySQL is slow: a session holds a lock, and no row is written. Buys continue. The remedy is to kill the session.
# shellcheck source=deploy/drills/common.sh
source "$(dirname "$0")/common.sh"

node a api,worker,sweeper
crowd a
explain 'A session has locked the table orders, for a report or a change of the schema.'
mariadb stampede -e 'LOCK TABLES orders READ; DO SLEEP(600)' >/dev/null 2>&1 &
others+=($!)
wait_output 40 'nothing_moving' "stampede status 2>/dev/null | sed -n '/^!/,\$p'"
show_output "redis-cli XINFO GROUPS 'stampede:{0}:orders' | paste -sd' '"
explain 'Buys still succeed and wait in the stream. The blocking session is the session that does not wait for a lock.'
wait_output 10 'SLEEP' "mariadb -e 'SELECT id, time, state, LEFT(info, 60) AS info FROM information_schema.processlist WHERE info IS NOT NULL ORDER BY time DESC LIMIT 4'"
explain 'Remedy: end that session.'
show_output 'mariadb -N -e "SELECT CONCAT('"'KILL '"', id) FROM information_schema.processlist WHERE info LIKE '"'DO SLEEP%'"'" | tee /dev/stderr | mariadb'
wait_output 30 'pending [0-9] .*lag [0-9]$' "redis-cli XINFO GROUPS 'stampede:{0}:orders' | paste -sd' '"
finish_drill
