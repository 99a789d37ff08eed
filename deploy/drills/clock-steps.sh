#!/usr/bin/env bash
# The clock of Redis jumps. This clock decides when a sale is open and when an order expires. clock.c in this folder
# shifts the clock that the real redis-server reads.
# shellcheck source=deploy/drills/common.sh
source "$(dirname "$0")/common.sh"

# ahead SECONDS: sets the offset of the Redis clock, an integer of eight bytes.
ahead() {
  # Little-endian; two bytes are enough for the seconds of a drill.
  # shellcheck disable=SC2059
  printf "\\x$(printf %02x $(($1 % 256)))\\x$(printf %02x $(($1 / 256)))\\0\\0\\0\\0\\0\\0" |
    dd of="$TMPDIR/clock" conv=notrunc status=none
}
ahead 0
gcc -shared -fPIC -O2 -o "$TMPDIR/clock.so" deploy/drills/clock.c
redis_port=$(free_port)
export STAMPEDE_REDIS_URL=redis://127.0.0.1:$redis_port
mkdir "$TMPDIR/redis"
env LD_PRELOAD="$TMPDIR/clock.so" DRILL_CLOCK="$TMPDIR/clock" \
  redis-server "$TMPDIR/../redis.conf" --port "$redis_port" --dir "$TMPDIR/redis" >"$TMPDIR/redis.log" 2>&1 &
others+=($!)
wait_for 20 redis-cli ping
node a api,worker,sweeper
crowd a
sale=$(redis-cli --raw --scan --pattern 'stampede:{*}:sale:*' | grep -E ':sale:[0-9]+$' | head -n 1) sale=${sale##*:}
wait_output 5 'clocks' "stampede sale ready $sale 2>/dev/null | grep clocks"
explain 'The clock of Redis jumps 90 seconds ahead.'
ahead 90
show_output 'echo "$(date +%s) here, $(redis-cli TIME | head -n 1) in Redis"'
wait_output 20 '^fail' "stampede sale ready $sale 2>/dev/null | grep clocks"
explain 'Buys continue, and orders get their rows. Sales open and close by that clock, 90 seconds early.'
wait_output 30 'entries-read [1-9][0-9]{2,} lag [0-9]$' "redis-cli XINFO GROUPS 'stampede:{0}:orders' | paste -sd' '"
explain 'Remedy: correct the clock, between sales or slowly (a time server slews it). Here it jumps back, the worst case.'
ahead 0
wait_output 20 '^ok' "stampede sale ready $sale 2>/dev/null | grep clocks"
wait_output 30 'entries-read [2-9][0-9]{2,} lag [0-9]$' "redis-cli XINFO GROUPS 'stampede:{0}:orders' | paste -sd' '"
finish_drill
