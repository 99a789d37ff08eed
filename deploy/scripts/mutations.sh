#!/usr/bin/env bash
# Mutations: proof that the tests can fail. Each file deploy/mutations/*.edit breaks one of the guarantees (format:
# deploy/tools/mutate). Its header names the guarantee and the test that must fail:
#
#   Defect: Units are returned twice
#   Breaks: P1 I3
#   Test: ./streams TestUnitsReturnOnce     package and test (a pattern of `go test -run`)
#   Race: yes                               only if the race detector is needed to notice
#
#   mutations.sh [PATTERN…]     mutations whose file name contains a PATTERN (default: all)
#   mutations.sh --since BASE   mutations whose edit, mutated code or test file changed since commit BASE
#
# A mutation passes if it applies to the commit and compiles, and if its test passes without it and fails with it. The
# script works on a temporary worktree of HEAD; it neither uses nor changes uncommitted files. The last line is
# `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh
if [[ -z ${STAMPEDE_TEST_REDIS:-} ]]; then
  use_memory
  exec deploy/scripts/services.sh run "$0" "$@"
fi
since=
case ${1:-} in
--since) since=$(git rev-parse "${2:?usage: mutations.sh --since BASE}^{commit}") && shift 2 ;;
-*) echo 'usage: mutations.sh [PATTERN…] | --since BASE' >&2 && exit 2 ;;
esac
patterns=("$@")

deploy/scripts/tools.sh
root=$PWD
folder=$(mktemp -d "${TMPDIR:-/tmp}/stampede-mutations-XXXXXX")
log=$folder/log
trap 'git -C "$root" worktree remove --force "$folder/tree" || true; rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
git worktree add --quiet --detach "$folder/tree"
cd "$folder/tree"

# header NAME: prints the value of a header line of $file; prints nothing if it is absent.
header() { sed -n "/^$/q; s/^$1: //p" "$file"; }

# selected succeeds if the arguments select $file.
selected() {
  local pattern changed
  for pattern in "${patterns[@]}"; do
    [[ ${file##*/} == *"$pattern"* ]] && return
  done
  ((!${#patterns[@]})) || return 1
  [[ -n $since ]] || return 0
  changed=$(git diff --name-only "$since" -- "$file" $(sed -n 's/^File: //p' "$file") \
    $(grep -lE "^func ($test)\(" "$package"/*_test.go))
  [[ -n $changed ]]
}

# build BINARY: compiles the test's package. The flags are those of build.sh, so that only mutated packages and their
# dependents are compiled.
build() { GOGC=400 CGO_ENABLED=$cgo go test -trimpath -vet=off -ldflags=-w -c "${race[@]}" -o "$1" "$package"; }

# try BINARY: runs the test. Status 0: passed; 1: failed; 2: no such test, or the process ended early.
try() {
  local output status=0
  output=$(cd "$package" && "$1" -test.run="^($test)\$" -test.v -test.timeout=5m 2>&1) || status=1
  printf '%s\n' "$output"
  case $status in
  0) grep -q '^--- PASS' <<<"$output" || status=2 ;;
  1) grep -qE '^--- FAIL|^WARNING: DATA RACE' <<<"$output" || status=2 ;; # a race may end the process before the result
  esac
  return "$status"
}

# unmutated succeeds if the test passes without the mutation. Each package is built once, each test runs once.
declare -A passes
unmutated() {
  local binary=$folder/${package//\//-}$(header Race)
  if [[ -z ${passes[$package$test]:-} ]]; then
    passes[$package$test]=no
    { [[ -e $binary ]] || build "$binary"; } && try "$binary" && passes[$package$test]=yes
  fi
  [[ ${passes[$package$test]} == yes ]]
}

# reject REASON: reports a failure with the end of the log.
reject() {
  failed=$((failed + 1))
  printf 'FAIL  %s → %s: %s\n' "$(header Defect)" "$package $test" "$1"
  tail -n 40 "$log" | sed 's/^/      /'
}

# applies succeeds if every mutation, selected or not, applies to the commit.
applies() {
  local file
  for file in deploy/mutations/*.edit; do "$root/.run/tools/mutate" -n "$file" || return 1; done
}
check 'every mutation applies' applies || true

for file in deploy/mutations/*.edit; do
  read -r package test <<<"$(header Test)"
  selected || continue
  race=() cgo=0 began=$SECONDS status=0
  [[ $(header Race) != yes ]] || race=(-race) cgo=1
  if ! unmutated >"$log" 2>&1; then
    reject 'the test fails without the mutation'
  elif ! "$root/.run/tools/mutate" "$file" >"$log" 2>&1; then
    reject 'does not apply'
  elif ! build "$folder/mutant" >"$log" 2>&1; then
    reject 'does not compile'
  else
    try "$folder/mutant" >"$log" 2>&1 || status=$?
    case $status in
    0) reject 'NOT CAUGHT' ;;
    1)
      passed=$((passed + 1))
      printf 'ok    %s → %s (%d s)\n' "$(header Defect)" "$package $test" $((SECONDS - began))
      ;;
    *) reject 'the test process exited without a result' ;;
    esac
  fi
  git checkout --quiet -- .
done
finish
