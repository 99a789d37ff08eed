#!/usr/bin/env bash
# Runs Go tests with gotestsum: one line per package, and the complete output of each failed test. The last line is
# `N passed, N failed`. A skipped test counts as failed, so that a missing service does not look like success.
#
#   go-test.sh [FLAG…] PACKAGE…             flags of `go test`
#   go-test.sh --compile [FLAG…] PACKAGE…   compiles the tests and their dependencies only
#   go-test.sh --log NAME [FLAG…] PACKAGE…  also prints the log lines of the tests (measured figures) and keeps the
#                                           events in .run/NAME.json
#
# Results never come from the test cache: the stores behind the tests may have changed.
set -euo pipefail
cd "$(dirname "$0")/../.."
deploy/scripts/tools.sh

compile=0 log=
case ${1:-} in
--compile) compile=1 && shift ;;
--log) log=$2 && shift 2 ;;
esac

# Packages that are slow to compile or to run with -race and do not benefit: SQLite is C translated to Go, go-redis has
# thousands of small methods to inline, the reader of captchas only calculates. DWARF is omitted, because these binaries
# are not debugged. Do not exclude packages that instantiate generic code: the linker keeps one of several equal
# instances. If that instance is not instrumented, the detector reports races in encoding/json. Each pattern repeats all
# flags, because the last pattern that matches wins.
race=()
if [[ " $* " == *' -race '* ]]; then
  race=(-gcflags=all=-dwarf=false "-gcflags=modernc.org/sqlite/lib=-dwarf=false -race=false"
    "-gcflags=modernc.org/libc=-dwarf=false -race=false" "-gcflags=stampede/app/test/kit/ocr=-dwarf=false -race=false"
    "-gcflags=github.com/redis/go-redis/v9=-dwarf=false -l" -ldflags=-w)
else
  export CGO_ENABLED=0 # the flags of build.sh: dependencies are compiled once for the program and its tests
fi

if ((compile)); then
  GOGC=400 go list -trimpath "${race[@]}" -export -deps -test "$@" >/dev/null
  exit
fi

events=$(mktemp) status=0
trap 'rm -f "$events"' EXIT
[[ -z $log ]] || { mkdir -p .run && events=.run/$log.json && trap - EXIT; }
# Vet has its own check in lint.sh. No test may depend on the time limit; it ends a test that hangs.
.run/tools/gotestsum --format pkgname-and-test-fails --format-icons text --format-hide-empty-pkg --hide-summary all \
  --jsonfile "$events" -- -trimpath "${race[@]}" -vet=off -count=1 -timeout 20m "$@" || status=$?
[[ -z $log ]] || sed -n 's/.*"Output":" *[a-z_]*_test.go:[0-9]*: \(.*\)\\n"}$/\1/p' "$events"

# go test attributes a report of the race detector, or the goroutines of a package that hangs, to any of its tests;
# gotestsum omits the output of those that passed.
report() {
  local package
  package=$(sed -n "/\"Output\":\"$1/s/.*\"Package\":\"\([^\"]*\)\".*/\1/p" "$events" | head -1)
  [[ -z $package ]] || grep -F "\"Package\":\"$package\"" "$events" | sed -n "/$1/,\$p" |
    sed -n 's/\\t/  /g; s/.*"Output":"\(.*\)\\n"}$/\1/p' | sed -n 1,300p
}
report 'WARNING: DATA RACE'
report 'panic: test timed out'

# count ACTION: prints the number of tests and subtests with this result.
count() { grep -cE "\"Action\":\"$1\".*\"Test\":" "$events" || true; }
passed=$(count pass) skipped=$(count skip) failed=$(count fail)
sed -nE 's/.*"Action":"skip","Package":"([^"]*)","Test":"([^"]*)".*/FAIL  \1 \2 was skipped, which counts as failed/p' "$events"
failed=$((failed + skipped))
if ((status != 0 && failed == 0 || passed + failed == 0)); then
  echo "FAIL  go test ended with status $status; see above"
  failed=1
fi
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
