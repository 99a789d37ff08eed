#!/usr/bin/env bash
# Adds a node during a sale. It takes a share of the work at once, and disappears from the status when it stops.
# shellcheck source=deploy/drills/common.sh
source "$(dirname "$0")/common.sh"

node a api,worker,sweeper
crowd a
shows "redis-cli XINFO CONSUMERS 'stampede:{0}:orders' fulfil | paste -sd' '"
tell 'A node more, with the settings of the others. Nothing has to be told to anybody.'
node b api,worker,sweeper
sees 10 '^ready$' 'curl http://b:9090/readyz'
sees 20 '  2 nodes' 'stampede status | head -n 2'
sees 20 'name.* name' "redis-cli XINFO CONSUMERS 'stampede:{0}:orders' fulfil | paste -sd' '"
tell 'It sells, too.'
disperse
shows "stampede load chain --target 127.0.0.1:${listen[b]} --sockets 20 --hot 2 --rate 100 --for 2s | head -n 2"
tell 'It leaves again on SIGTERM, and others have what it did not finish.'
signal b TERM
sees 20 '  1 node' 'stampede status | head -n 1'
proves
