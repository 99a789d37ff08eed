#!/usr/bin/env bash
# Redis is lost with its disk, and an empty Redis replaces it: every partition is rebuilt from the database.
# shellcheck source=deploy/drills/common.sh
source "$(dirname "$0")/common.sh"

node a api,worker,sweeper
crowd a
shows "stampede audit | tail -n 1"
tell 'Redis and its disk are gone (kill -9, rm -rf).'
store redis KILL
rm -rf "${TMPDIR:?}/../redis"
sees 30 'redis_away' "stampede status 2>/dev/null | sed -n '/^!/,\$p'"
tell 'Remedy: an empty Redis with the same settings. Nothing else has to be done, and nothing should be deleted.'
mkdir "$TMPDIR/../redis"
redis_again
recovered() { (($(log a | grep -c 'partition recovered.*epoch=[3-9]') >= 2)); }
wait_for 60 recovered
shows "log a | grep 'partition recovered' | tail -n 2"
tell 'What was answered and had no row is counted and logged: the one loss that P2 excludes.'
shows "curl http://a:9090/metrics | grep '^stampede_reservations_lost_total'"
sees 30 '^0$' "stampede status 2>/dev/null | grep -c '^!'"
sees 30 'id [1-9].*lag [0-9]$' "redis-cli XINFO GROUPS 'stampede:{0}:orders' | paste -sd' '"
proves
