#!/usr/bin/env bash
# Runs the browser tests: starts bin/stampede demo twice on free ports, with and without simulated shoppers, runs
# frontend/smoke against them with Playwright and stops them. SMOKE_SHOTS names a folder for screenshots. With
# SMOKE_SHEETS, a folder, only the contact sheets are written. Failed tests save a screenshot and a trace in
# .run/browser.
#
#   smoke.sh [PATTERN]   only the tests whose names match the regular expression
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=$(mktemp -d "${TMPDIR:-/tmp}/stampede-smoke-XXXXXX")
export TMPDIR=$dir/tmp # Playwright leaves folders there
mkdir "$TMPDIR"
demos=()
finish() {
  kill -TERM "${demos[@]}" 2>/dev/null || true
  wait "${demos[@]}" 2>/dev/null || true
  rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# demo NAME FLAG…: starts a demo in the background.
demo() {
  local name=$1
  shift
  STAMPEDE_TIME_ZONE=$zone bin/stampede demo --listen 127.0.0.1:0 --data "$dir/$name" "$@" >"$dir/$name.log" 2>&1 </dev/null &
  demos+=($!)
}

# address NAME: prints the URL of the demo as soon as its log contains it.
address() {
  local deadline=$((SECONDS + 60))
  until grep -m 1 -oE 'http://127\.0\.0\.1:[0-9]+' "$dir/$1.log"; do
    if ! kill -0 "${demos[@]}" 2>/dev/null || ((SECONDS > deadline)); then
      echo 'bin/stampede demo did not start:' >&2
      cat "$dir/$1.log" >&2
      return 1
    fi
    sleep 0.1
  done
}

# redis_of NAME: prints the address of its embedded Redis.
redis_of() { sed -nE 's/.*redis-cli -h ([^ ]+) -p ([0-9]+) .*/\1:\2/p' "$dir/$1.log" | head -n 1; }

# It is about noon in the demos' time zone: a page shows the slots of one day, so before midnight no next slot follows.
zone=$(printf 'Etc/GMT%+d' "$((10#$(date -u +%H) - 12))")
# Slots are long, so that none ends during a purchase: the first lasts nine minutes.
demo busy --slot 30m --shoppers 20
demo quiet --slot 30m --shoppers 0
busy=$(address busy)
quiet=$(address quiet)
# Each tick redraws every open page, which takes most of the processor time: one tick per 500 ms is enough. After the
# loop the operator commands call the busy demo.
for name in quiet busy; do
  STAMPEDE_URL=${!name} STAMPEDE_TOKEN=$(STAMPEDE_DATA=$dir/$name bin/stampede token --user 1 --role admin --ttl 12h)
  export STAMPEDE_URL STAMPEDE_TOKEN
  bin/stampede switch set --tick-ms 500 --note smoke >/dev/null
done
# The tests run commands in the data folders, and use the Redis of the demos for captchas and a dead letter.
export SMOKE_BUSY=$busy SMOKE_BUSY_DATA=$dir/busy SMOKE_QUIET=$quiet SMOKE_QUIET_DATA=$dir/quiet
SMOKE_BUSY_REDIS=$(redis_of busy)
SMOKE_QUIET_REDIS=$(redis_of quiet)
export SMOKE_BUSY_REDIS SMOKE_QUIET_REDIS

project=smoke
[[ -z ${SMOKE_SHEETS:-} ]] || project=sheets
status=0
npm --prefix frontend run --silent "$project" -- ${1:+--grep "$1"} || status=$?
if ((status != 0)); then
  for name in busy quiet; do
    echo "log of the demo ($name):"
    tail -n 60 "$dir/$name.log"
  done
fi
exit "$status"
