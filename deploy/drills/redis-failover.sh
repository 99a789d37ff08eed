#!/usr/bin/env bash
# Redis fails over: the primary dies, sentinels promote its replica, and the nodes follow. The nodes detect lost writes,
# compare the partitions with the rows, and rebuild a partition that lacks data.
# shellcheck source=deploy/drills/common.sh
source "$(dirname "$0")/common.sh"

replica_port=$(free_port) sentinel_port=$(free_port) primary_port=$redis_port
mkdir "$TMPDIR/replica" "$TMPDIR/sentinel"
redis-server "$TMPDIR/../redis.conf" --port "$replica_port" --dir "$TMPDIR/replica" --replicaof 127.0.0.1 "$primary_port" \
  >"$TMPDIR/replica.log" 2>&1 &
others+=($!)
cat >"$TMPDIR/sentinel.conf" <<END
port $sentinel_port
bind 127.0.0.1
sentinel monitor shop 127.0.0.1 $primary_port 1
sentinel down-after-milliseconds shop 2000
sentinel failover-timeout shop 10000
END
redis-server "$TMPDIR/sentinel.conf" --sentinel --dir "$TMPDIR/sentinel" >"$TMPDIR/sentinel.log" 2>&1 &
others+=($!)
sentinel() { command redis-cli -p "$sentinel_port" SENTINEL "$@"; }
knows_replica() { sentinel replicas shop | grep -q "$replica_port"; }
wait_for 20 knows_replica
export STAMPEDE_REDIS_URL=redis-sentinel://127.0.0.1:$sentinel_port/shop
node a api,worker,sweeper
crowd a
wait_output 30 'state=online' "redis-cli INFO replication | grep -E '^(role|connected_slaves|slave0)'"
show_output "sentinel get-master-addr-by-name shop | paste -sd' '"
explain 'The primary and its machine fail (kill -9).'
store redis KILL
wait_output 20 "$replica_port" "sentinel get-master-addr-by-name shop | paste -sd' '"
redis_port=$replica_port
recovered() { (($(log a | grep -c 'partition recovered.*promoted') >= 2)); }
wait_for 60 recovered
show_output "log a | grep 'partition recovered' | tail -n 2"
explain 'Confirmed reservations that reached neither the replica nor a row are counted and logged: the loss that P2 does not cover.'
show_output "curl http://a:9090/metrics | grep '^stampede_reservations_lost_total'"
wait_output 30 '^0$' "stampede status 2>/dev/null | grep -c '^!'"
wait_output 30 'pending [0-9] .*lag [0-9]$' "redis-cli XINFO GROUPS 'stampede:{0}:orders' | paste -sd' '"
finish_drill
