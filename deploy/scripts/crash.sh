#!/usr/bin/env bash
# The crash suite (app/test/crash): kills, disconnects and freezes processes, Redis and MariaDB while buyers buy, and
# compares the replies to the buyers with the stores. The last line is `N passed, N failed`.
#
#   crash.sh                          every crash point once, a few backlogs killed at random moments, ten nodes
#                                     (some are killed, frozen, stopped and added), a rolling restart, and a
#                                     promoted replica of each kind
#   crash.sh --long                   more seeds; also crashes of the stores, lost replies, frozen processes and wrong
#                                     clocks; then the model tests with 1,000 sequences each
#   crash.sh --seed N                 repeats the run that printed this seed
#   crash.sh --seed N --point NAME    only this crash point of app/test/faults/points.go
#   crash.sh --seed N --run NAME      only the run of this name (a pattern of `go test -run`)
#   crash.sh --seeds N                N random backlogs
#   crash.sh --changes N              N changes to the shop of many nodes (4, with --long 60)
#   crash.sh --promotions N           N runs for each kind of promoted replica (1, with --long 15)
#   crash.sh --write                  writes the figures of the last long run into deploy/SAFETY.md
#
# Failed runs leave their history, final state and logs in .run/crash; report.txt there has one line per run.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh
scripts=deploy/scripts
safety=deploy/SAFETY.md
last=.run/crash-long.txt # the report of the last long run

# figures: prints the report of the last long run as a Markdown table, one line per test.
figures() {
  echo '| test | runs | buys with a reply | unknown | buys with a reply, uncommitted at the fault | events received |'
  echo '|---|---|---|---|---|---|'
  awk '
    $1 == "ok" {
      split($2, name, "/")
      test = name[1]
      if (!(test in runs)) order[++tests] = test
      runs[test]++
      for (i = 3; i < NF; i++) {
        if ($(i + 1) == "accepted") accepted[test] += $i
        if ($(i + 1) == "unknown") unknown[test] += $i
        if ($(i + 1) == "events,") events[test] += $i
        if ($(i + 1) == "uncommitted") {
          if (!(test in most) || $i > most[test]) most[test] = $i
          if (!(test in least) || $i < least[test]) least[test] = $i
        }
      }
    }
    END {
      for (i = 1; i <= tests; i++) {
        t = order[i]
        lost = (t in most) ? (least[t] == most[t] ? most[t] : least[t] "–" most[t]) : "—"
        printf "| `%s` | %d | %d | %d | %s | %d |\n", t, runs[t], accepted[t], unknown[t], lost, events[t]
      }
    }' "$last"
  echo
  echo 'Ten thousand equal deadlines, with a kill of the sweeper while it processes them:'
  echo
  sed -nE 's/^ok +TestKilledSweeperReturnsUnitsOnce\/([^ ]+) .* ([0-9]+ pending at the kill.*late) orders.*/- `\1`: \2/p' "$last"
  echo
  sed -n 's/^seed \([0-9]*\);.*/All runs used the seed \1 (`just crash --long --seed \1`)./p' "$last"
}

write() {
  local kept
  [[ -e $last ]] || { echo 'no report of a long run exists: run crash.sh --long' >&2 && return 1; }
  kept=$(mktemp)
  {
    sed '/<!-- crash: begin/q' "$safety"
    figures
    sed -n '/<!-- crash: end/,$p' "$safety"
  } >"$kept"
  cat "$kept" >"$safety"
  rm -f "$kept"
}

# models: runs every model test with many more sequences than `just test`.
models() {
  $scripts/services.sh run $scripts/go-test.sh -timeout 60m -run 'Model$|InOrder$|NewestState$' \
    ./streams ./app/store ./realtime -rapid.checks=1000
}

run='^(TestDeathAtEachCrashPointLosesNoWork|TestKilledNodeLosesNoBacklog|TestNodeChangesLoseNoOrder|TestRollingRestartLosesNoOrder|TestRandomPromotionsKeepStoresConsistent)$'
seeds=3 changes=4 promotions=1
long=0
flags=()
while (($#)); do
  case $1 in
  --write) write && exit ;;
  --long) run=. seeds=20 changes=60 promotions=15 long=1 ;;
  --seed) flags+=(-seed "${2:?}") && shift ;;
  --seeds) seeds=${2:?} && shift ;;
  --changes) changes=${2:?} && shift ;;
  --promotions) promotions=${2:?} && shift ;;
  --point) run="^TestDeathAtEachCrashPointLosesNoWork\$/^${2:?}\$" && shift ;;
  --run) run=${2:?} && shift ;;
  *)
    sed -n '5,17s/^# *//p' "$0" >&2
    exit 2
    ;;
  esac
  shift
done

rm -f .run/crash/report.txt
suite 'crash' $scripts/services.sh run $scripts/go-test.sh -timeout 90m -parallel 6 -tags crashpoints ./app/test/crash \
  -run "$run" -seeds "$seeds" -changes "$changes" -promotions "$promotions" "${flags[@]}" || true
printf '\n'
cat .run/crash/report.txt || true
if ((long)); then
  suite 'models, 1,000 sequences each' models || true
  ((failed)) || cp .run/crash/report.txt "$last"
fi
printf '\n'
finish
