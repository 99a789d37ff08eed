#!/usr/bin/env bash
# Adds a node during a sale. It takes a share of the work at once, and disappears from the status when it stops.
# shellcheck source=deploy/drills/common.sh
source "$(dirname "$0")/common.sh"

node a api,worker,sweeper
crowd a
show_output "redis-cli XINFO CONSUMERS 'stampede:{0}:orders' fulfil | paste -sd' '"
explain 'Start one more node with the settings of the others. No other step is necessary.'
node b api,worker,sweeper
wait_output 10 '^ready$' 'curl http://b:9090/readyz'
wait_output 20 '  2 nodes' 'stampede status | head -n 2'
wait_output 20 'name.* name' "redis-cli XINFO CONSUMERS 'stampede:{0}:orders' fulfil | paste -sd' '"
explain 'The new node also sells.'
end_crowd
show_output "stampede load chain --target 127.0.0.1:${listen[b]} --sockets 20 --hot 2 --rate 100 --for 2s | head -n 2"
explain 'The node stops on SIGTERM. Other nodes take over its unfinished work.'
signal b TERM
wait_output 20 '  1 node' 'stampede status | head -n 1'
finish_drill
