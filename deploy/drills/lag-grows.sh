#!/usr/bin/env bash
# The lag grows: reservations arrive, and no worker turns them into orders. The remedy is a worker.
# shellcheck source=deploy/drills/common.sh
source "$(dirname "$0")/common.sh"

node a api,sweeper
node w worker
crowd a
explain 'The only worker stops during buys. The reservations are safe in the stream and wait there.'
signal w TERM
show_output "redis-cli XINFO GROUPS 'stampede:{0}:orders' | paste -sd' '"
wait_output 40 'nothing_moving' "stampede status 2>/dev/null | sed -n '/^!/,\$p'"
wait_output 10 'lag [1-9][0-9]{2}' "redis-cli XINFO GROUPS 'stampede:{0}:orders' | paste -sd' '"
explain 'Remedy: start another node with the role worker.'
node w worker
wait_output 20 'lag [0-9]$' "redis-cli XINFO GROUPS 'stampede:{0}:orders' | paste -sd' '"
wait_output 20 '^0$' "stampede status 2>/dev/null | grep -c '^!'"
finish_drill
