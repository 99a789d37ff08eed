#!/usr/bin/env bash
# The crash suite (app/crash): real processes, Redis and MariaDB are killed, cut off and frozen while people buy, and
# what they were told is compared with what the stores say. The last line is `N passed, N failed`.
#
#   crash.sh                          every crash point once, and a few backlogs killed at random moments
#   crash.sh --long                   more seeds, and the stores, lost replies and frozen processes, too
#   crash.sh --seed N                 as in the run that printed that seed
#   crash.sh --seed N --point NAME    only that crash point
#   crash.sh --seed N --run NAME      only the run of that name (a pattern of `go test -run`)
#   crash.sh --seeds N                that many random backlogs
#
# Runs that fail leave their history, final state and logs in .run/crash; report.txt there has a line per run.
set -euo pipefail
cd "$(dirname "$0")/../.."

run='^(TestEveryPoint|TestKilledInBacklog)$'
seeds=3
flags=()
while (($#)); do
  case $1 in
  --long) run=. seeds=20 ;;
  --seed) flags+=(-seed "${2:?}") && shift ;;
  --seeds) seeds=${2:?} && shift ;;
  --point) run="^TestEveryPoint\$/^${2:?}\$" && shift ;;
  --run) run=${2:?} && shift ;;
  *)
    sed -n '5,11s/^# *//p' "$0" >&2
    exit 2
    ;;
  esac
  shift
done

status=0
mkdir -p .run
deploy/scripts/services.sh run deploy/scripts/go-test.sh -timeout 60m -parallel 6 -tags crashpoints ./app/crash \
  -run "$run" -seeds "$seeds" "${flags[@]}" | tee .run/crash.out || status=$?
printf '\n'
cat .run/crash/report.txt
tail -n 1 .run/crash.out
exit "$status"
