#!/usr/bin/env bash
# A partition moves: another worker claims the entries of a worker without contact between the two. Here the first
# worker is frozen. When it continues, it finds its entries settled and changes nothing.
# shellcheck source=deploy/drills/common.sh
source "$(dirname "$0")/common.sh"

in_hand() { [[ $(redis-cli --raw XPENDING 'stampede:{0}:orders' fulfil | head -n 1) != 0 ]]; }

node a api,sweeper
node w worker
crowd a
tell 'Worker w holds entries of partition 0 (it waits for the database), and stands still from here on.'
store mariadb STOP
wait_for 20 in_hand
signal w STOP
store mariadb CONT
sees 10 ' w-|[0-9]' "redis-cli XINFO CONSUMERS 'stampede:{0}:orders' fulfil | paste -sd' '"
tell 'A second worker claims them after five to eight seconds: its own pending entries now, and soon nobody'"'"'s.'
node v worker
sees 30 'claimed entries' "log v | grep 'claimed entries'"
sees 20 'pending 0 idle.*pending [0-9]+ idle' "redis-cli XINFO CONSUMERS 'stampede:{0}:orders' fulfil | paste -sd' '"
tell 'The first one goes on, with entries in hand that are another'"'"'s: each order has one row all the same.'
signal w CONT
sees 20 '^200$' "curl -o /dev/null -w '%{http_code}\n' http://w:9090/readyz"
tell 'To hand a worker'"'"'s partitions over on purpose, stop it: it settles what it holds and leaves nothing to claim.'
signal w TERM
sees 10 'msg=' "log w | tail -n 1"
proves
