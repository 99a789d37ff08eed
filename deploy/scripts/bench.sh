#!/usr/bin/env bash
# Measures what RESULTS.md says, on private stores with full durability: everything beside its simple way, in turns, in five
# rounds. The flags are those of deploy/bench: --rounds N, --scale X to try it out, --render to make the table again.
#
#   bench.sh --against REV [--pairs N]   measures this program and that of an older revision in turns instead (12 pairs),
#                                        and prints how they compare; nothing is written
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
echo 'building what is measured' >&2
if [[ -n $old ]]; then
  git worktree add --quiet --detach "$bin/tree" "$old"
  (cd "$bin/tree" && CGO_ENABLED=0 go build -trimpath -o "$bin/old/stampede" ./app/cmd/stampede)
  flags+=(-old "$bin/old")
else # the simple ways, and the benchmarks of single steps
  CGO_ENABLED=0 go build -trimpath -tags bench -o "$bin/stampede-bench" ./app/cmd/stampede
  go test -c -o "$bin/" ./streams ./app/store ./realtime
fi
CGO_ENABLED=0 go build -trimpath -o "$bin/stampede" ./app/cmd/stampede
go build -o "$bin/bench" ./deploy/bench
deploy/scripts/services.sh run "$bin/bench" -bin "$bin" "${flags[@]}"
[[ -z $old ]] || exit 0

# Figures of single tests that are not in RESULTS.md: 10,000 equal deadlines (P5: back within one second), and what a tick
# costs the page.
deploy/scripts/services.sh run deploy/scripts/go-test.sh --log deadlines -run '^TestTenThousandEqualDeadlines$' ./app/test/e2e
deploy/scripts/build.sh packages && deploy/scripts/build.sh page
npm --prefix frontend run --silent cost
