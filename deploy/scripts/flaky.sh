#!/usr/bin/env bash
# Looks for tests that fail at random: runs the test command N times while LOAD processes keep the processors busy, and
# prints each failure. The last line is `N passed, N failed`, the counts of all runs together.
#
#   flaky.sh N [LOAD]   N runs (1) under LOAD busy processes (6)
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh
runs=${1:-1} load=${2:-6}
[[ $runs$load =~ ^[0-9]+$ ]] || { echo 'usage: flaky.sh N [LOAD]' >&2 && exit 2; }

busy=()
trap '((!${#busy[@]})) || kill "${busy[@]}" 2>/dev/null || true' EXIT
for ((i = 0; i < load; i++)); do
  while :; do :; done &
  busy+=($!)
done
mkdir -p .run
for ((run = 1; run <= runs; run++)); do
  log=.run/flaky-$run.log
  suite "run $run of $runs under a load of $load, complete log in $log" bash -c \
    'deploy/scripts/test.sh >"$1" 2>&1; status=$?; grep -A 40 "^FAIL" "$1"; tail -n 12 "$1"; exit "$status"' - "$log" || true
done
printf '\n'
finish
