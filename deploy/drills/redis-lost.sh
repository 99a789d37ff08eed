#!/usr/bin/env bash
# Redis is lost with its disk, and an empty Redis replaces it: every partition is rebuilt from the database.
# shellcheck source=deploy/drills/common.sh
source "$(dirname "$0")/common.sh"

node a api,worker,sweeper
crowd a
show_output "stampede audit | tail -n 1"
explain 'Redis and its disk are lost (kill -9, rm -rf).'
store redis KILL
rm -rf "${TMPDIR:?}/../redis"
wait_output 30 'redis_away' "stampede status 2>/dev/null | sed -n '/^!/,\$p'"
explain 'Remedy: start an empty Redis with the same settings. No other step is necessary. Do not delete anything.'
mkdir "$TMPDIR/../redis"
restart_redis
recovered() { (($(log a | grep -c 'partition recovered.*epoch=[3-9]') >= 2)); }
wait_for 60 recovered
show_output "log a | grep 'partition recovered' | tail -n 2"
explain 'Confirmed reservations without a row are counted and logged: the only loss that P2 does not cover.'
show_output "curl http://a:9090/metrics | grep '^stampede_reservations_lost_total'"
wait_output 30 '^0$' "stampede status 2>/dev/null | grep -c '^!'"
wait_output 30 'id [1-9].*lag [0-9]$' "redis-cli XINFO GROUPS 'stampede:{0}:orders' | paste -sd' '"
finish_drill
