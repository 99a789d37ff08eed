#!/usr/bin/env bash
# Fuzzes every decoder, one after the other: requests, their bodies, socket frames of both ends, hints, cursors, stream
# entries, postings, names of holds and dead letters, blocks, ids, amounts of money, tokens, configuration, operators'
# input (descriptions, pictures, tables of products and sales, lists of parcels), and the arguments of the Lua step that
# deducts stock.
#
#   fuzz.sh [SECONDS [PATTERN]]   60 seconds for each target whose name matches PATTERN (all)
#
# A failing input is written to testdata/fuzz of its package. Commit it with the fix: `go test` then runs it, as it runs
# all seeds. Inputs that only reach new code stay in .run/fuzz, where the next run starts from them. The last line is
# `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
pattern=${2:-.}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo 'usage: fuzz.sh [SECONDS [PATTERN]]' >&2; exit 2; }
if [[ -z ${STAMPEDE_TEST_REDIS:-} ]]; then
  exec deploy/scripts/services.sh run "$0" "$@"
fi
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh
root=$PWD

# fuzz PACKAGE TARGET: runs one target in its own folder, which holds its seeds. The toolchain may exceed its own time
# limit while it minimizes an interesting input; only a failing input is a finding.
fuzz() {
  local package=$1 target=$2 binary=$root/.run/fuzz/${1//\//-}.test output status=0
  go test -c -fuzz="^$target\$" -o "$binary" "./$package" && cd "$package" || return 1
  output=$(mktemp)
  "$binary" -test.run='^$' -test.fuzz="^$target\$" -test.fuzztime="${seconds}s" -test.fuzzminimizetime=5s \
    -test.fuzzcachedir="$root/.run/fuzz/$package" -test.parallel=2 >"$output" 2>&1 || status=$?
  cat "$output"
  if ((status != 0)) && grep -q '^ *context deadline exceeded$' "$output" && ! grep -q 'Failing input' "$output"; then
    status=0
  fi
  rm -f "$output"
  return "$status"
}

mkdir -p .run/fuzz
step "fuzzing, $seconds s each"
while IFS=: read -r file target; do
  [[ $target =~ $pattern ]] || continue
  check "${file%/*} $target" fuzz "${file%/*}" "$target" || true
done < <(grep -rho --include='*_test.go' --exclude-dir=node_modules -H -E '^func Fuzz[A-Za-z0-9_]+' app streams realtime |
  sed 's/:func /:/' | sort)
finish
