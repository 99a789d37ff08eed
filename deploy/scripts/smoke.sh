#!/usr/bin/env bash
# Looks at the demo with a real browser: starts bin/stampede demo on a free port with a folder of its
# own, runs frontend's smoke test against it and stops it. SMOKE_SHOTS names a folder for screenshots.
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=$(mktemp -d "${TMPDIR:-/tmp}/stampede-smoke-XXXXXX")
bin/stampede demo --listen 127.0.0.1:0 --data "$dir/data" >"$dir/log" 2>&1 </dev/null &
demo=$!
finish() {
  kill -TERM "$demo" 2>/dev/null || true
  wait "$demo" 2>/dev/null || true
  rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The demo prints its address once it answers.
deadline=$((SECONDS + 60))
until address=$(grep -m 1 -oE 'http://127\.0\.0\.1:[0-9]+' "$dir/log"); do
  if ! kill -0 "$demo" 2>/dev/null || ((SECONDS > deadline)); then
    echo 'bin/stampede demo did not come up:'
    cat "$dir/log"
    exit 1
  fi
  sleep 0.1
done

status=0
npm --prefix frontend run --silent smoke -- "$address" || status=$?
if ((status != 0)); then
  echo 'what the demo said:'
  tail -n 60 "$dir/log"
fi
exit "$status"
