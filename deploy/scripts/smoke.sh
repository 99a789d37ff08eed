#!/usr/bin/env bash
# Looks at the demo with a real browser: starts bin/stampede demo twice on free ports, with shoppers and without,
# each with a folder of its own, runs frontend's smoke test against them and stops them. SMOKE_SHOTS names a folder for
# screenshots.
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=$(mktemp -d "${TMPDIR:-/tmp}/stampede-smoke-XXXXXX")
demos=()
finish() {
  kill -TERM "${demos[@]}" 2>/dev/null || true
  wait "${demos[@]}" 2>/dev/null || true
  rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# demo NAME FLAG…: starts one.
demo() {
  local name=$1
  shift
  bin/stampede demo --listen 127.0.0.1:0 --data "$dir/$name" "$@" >"$dir/$name.log" 2>&1 </dev/null &
  demos+=($!)
}

# address NAME: prints where it is, as soon as it says so.
address() {
  local deadline=$((SECONDS + 60))
  until grep -m 1 -oE 'http://127\.0\.0\.1:[0-9]+' "$dir/$1.log"; do
    if ! kill -0 "${demos[@]}" 2>/dev/null || ((SECONDS > deadline)); then
      echo 'bin/stampede demo did not come up:' >&2
      cat "$dir/$1.log" >&2
      return 1
    fi
    sleep 0.1
  done
}

# redis_of NAME: prints where its embedded Redis is.
redis_of() { sed -nE 's/.*redis-cli -h ([^ ]+) -p ([0-9]+) .*/\1:\2/p' "$dir/$1.log" | head -n 1; }

# No slot ends under those who buy: the first lasts nine minutes.
demo busy --slot 30m
demo quiet --slot 30m --shoppers 0
busy=$(address busy)
quiet=$(address quiet)
# Where the mails of the quiet one are, and what its pictures show.
export SMOKE_MAIL=$dir/quiet/mail
SMOKE_REDIS=$(redis_of quiet)
# Where operators of the busy one are made, and where something is left over for them.
export SMOKE_REDIS SMOKE_DATA=$dir/busy
SMOKE_BUSY_REDIS=$(redis_of busy)
export SMOKE_BUSY_REDIS

status=0
npm --prefix frontend run --silent smoke -- "$busy" "$quiet" "$@" || status=$?
if ((status != 0)); then
  for name in busy quiet; do
    echo "what the demo ($name) said:"
    tail -n 60 "$dir/$name.log"
  done
fi
exit "$status"
