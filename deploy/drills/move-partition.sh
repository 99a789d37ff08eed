#!/usr/bin/env bash
# A partition moves: another worker claims the entries of a worker. The two workers do not communicate. Here the first
# worker is frozen. When it continues, it finds its entries settled and changes nothing.
# shellcheck source=deploy/drills/common.sh
source "$(dirname "$0")/common.sh"

has_pending() { [[ $(redis-cli --raw XPENDING 'stampede:{0}:orders' fulfil | head -n 1) != 0 ]]; }

node a api,sweeper
node w worker
crowd a
explain 'Worker w holds entries of partition 0 (it waits for the database). It is now paused.'
store mariadb STOP
wait_for 20 has_pending
signal w STOP
store mariadb CONT
wait_output 10 ' w-|[0-9]' "redis-cli XINFO CONSUMERS 'stampede:{0}:orders' fulfil | paste -sd' '"
explain 'A second worker claims the entries after 5 to 8 s. The entries are pending for it until it settles them.'
node v worker
wait_output 30 'claimed entries' "log v | grep 'claimed entries'"
wait_output 20 'pending 0 idle.*pending [0-9]+ idle' "redis-cli XINFO CONSUMERS 'stampede:{0}:orders' fulfil | paste -sd' '"
explain 'The first worker continues with entries that the second worker has claimed. Each order still has one row.'
signal w CONT
wait_output 20 '^200$' "curl -o /dev/null -w '%{http_code}\n' http://w:9090/readyz"
explain 'To move the partitions of a worker, stop it: it settles all its entries, so no other worker has to claim entries.'
signal w TERM
wait_output 10 'msg=' "log w | tail -n 1"
finish_drill
