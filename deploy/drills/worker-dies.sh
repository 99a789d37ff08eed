#!/usr/bin/env bash
# A worker dies with pending entries: another worker takes them over.
# shellcheck source=deploy/drills/common.sh
source "$(dirname "$0")/common.sh"

has_pending() { [[ $(redis-cli --raw XPENDING 'stampede:{0}:orders' fulfil | head -n 1) != 0 ]]; }

node a api,sweeper
node w worker
crowd a
explain 'A worker has read entries and waits for the database. Then it is killed (kill -9). The database continues, but no worker settles the entries.'
store mariadb STOP
wait_for 20 has_pending
signal w KILL
store mariadb CONT
show_output "redis-cli XINFO CONSUMERS 'stampede:{0}:orders' fulfil | paste -sd' '"
show_output "redis-cli XPENDING 'stampede:{0}:orders' fulfil - + 3 | paste -sd' '"
explain 'Remedy: start another worker. It reads new entries at once, and claims those of the dead worker after 5 to 8 s.'
node v worker
wait_output 10 'lag [0-9]$' "redis-cli XINFO GROUPS 'stampede:{0}:orders' | paste -sd' '"
wait_output 30 'claimed entries' "log v | grep 'claimed entries'"
wait_output 10 'pending [0-9] ' "redis-cli XINFO GROUPS 'stampede:{0}:orders' | paste -sd' '"
finish_drill
