#!/usr/bin/env bash
# Measures the figures of RESULTS.md on private stores with full durability: each program and its simple baseline in
# turns, in five rounds. Flags of deploy/bench: --rounds N, --scale X for a short trial, --render to write the tables
# again.
#
#   bench.sh --against REV [--pairs N]   measures this program and an older revision in turns (12 pairs) and prints a
#                                        comparison; writes no file
set -euo pipefail
cd "$(dirname "$0")/../.."

all=("$@") flags=() old=
while (($#)); do
  case $1 in
  --against) old=${2:?a revision} && shift ;;
  --render | -render) exec go run ./deploy/bench "${all[@]}" ;;
  *) flags+=("$1") ;;
  esac
  shift
done

bin=$(mktemp -d "${TMPDIR:-/tmp}/stampede-bench-XXXXXX")
trap 'git worktree remove --force "$bin/tree" 2>/dev/null || true; rm -rf "$bin"' EXIT
echo 'building the measured programs' >&2
if [[ -n $old ]]; then
  git worktree add --quiet --detach "$bin/tree" "$old"
  (cd "$bin/tree" && CGO_ENABLED=0 go build -trimpath -o "$bin/old/stampede" ./app/cmd/stampede)
  flags+=(-old "$bin/old")
else # the baselines, and the benchmarks of single steps
  CGO_ENABLED=0 go build -trimpath -tags bench -o "$bin/stampede-bench" ./app/cmd/stampede
  go test -c -o "$bin/" ./streams ./app/store ./realtime
fi
CGO_ENABLED=0 go build -trimpath -o "$bin/stampede" ./app/cmd/stampede
go build -o "$bin/bench" ./deploy/bench
deploy/scripts/services.sh run "$bin/bench" -bin "$bin" "${flags[@]}"
[[ -z $old ]] || exit 0

# Figures of single tests that are not in RESULTS.md: 10,000 equal deadlines (P5: units are back within one second), and
# the cost of a tick in the page.
deploy/scripts/services.sh run deploy/scripts/go-test.sh --log deadlines -run '^TestUnitsOfEqualDeadlinesReturnInTime$' ./app/test/e2e
deploy/scripts/build.sh
npm --prefix frontend run --silent cost
