#!/usr/bin/env bash
# The disk of Redis is full. With appendfsync always, Redis exits instead of replying to a write that is not on disk.
# Redis is started again when the disk has room. The disk is a small tmpfs in a separate mount namespace.
# shellcheck source=deploy/drills/common.sh
source "$(dirname "$0")/common.sh"

disk=$(realpath "$TMPDIR/..")/disk settings=$(realpath "$TMPDIR/..")/redis.conf
mkdir "$disk"
user=()
((EUID == 0)) || user=(--map-root-user)
unshare "${user[@]}" --mount bash -c "mount -t tmpfs -o size=24m tmpfs '$disk' && touch '$disk/mounted' && exec sleep infinity" &
holder=$!
others+=("$holder")
# in_namespace CMD…: runs the command in that mount namespace.
in_namespace() { nsenter --target "$holder" ${user:+--user --preserve-credentials} --mount --wd="$PWD" -- "$@"; }
wait_for 10 in_namespace test -e "$disk/mounted"
small_redis() {
  in_namespace redis-server "$settings" --port "$redis_port" --dir "$disk" >>"$TMPDIR/redis.log" 2>&1 &
  redis=$!
  others+=("$redis")
  wait_for 20 redis-cli ping
}
redis_port=$(free_port)
export STAMPEDE_REDIS_URL=redis://127.0.0.1:$redis_port
df() { in_namespace df -h --output=size,avail,pcent "$disk"; }
fallocate() { in_namespace fallocate "$@"; }

small_redis
node a api,worker,sweeper
crowd a
show_output 'df'
explain 'A file fills the disk. Redis cannot write its append-only file and exits.'
fallocate -l "$(in_namespace df --output=avail -B1 "$disk" | tail -n 1)" "$disk/ballast" || true
wait_output 60 'AOF write error' "tail -n 2 $TMPDIR/redis.log"
show_output 'df'
wait_output 30 'redis_away' "stampede status 2>/dev/null | sed -n '/^!/,\$p'"
explain 'Remedy: free space on the disk, then start Redis with its own files. Redis cuts off an incomplete last record, which was never confirmed.'
in_namespace rm "$disk/ballast"
small_redis
wait_output 60 'nothing is missing' "log a | grep 'nothing is missing' | tail -n 2"
wait_output 30 '^0$' "stampede status 2>/dev/null | grep -c '^!'"
finish_drill
