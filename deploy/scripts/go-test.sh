#!/usr/bin/env bash
# Runs Go tests and gives a strict verdict on them (deploy/tools/verdict).
#
#   go-test.sh [FLAG…] PACKAGE…             flags as of `go test`
#   go-test.sh --compile [FLAG…] PACKAGE…   only compiles what they are made of, so that they begin sooner
#   go-test.sh --told NAME [FLAG…] PACKAGE… shows before the verdict what the tests log: figures, of tests that measure;
#                                           all that was said is in .run/NAME.json
#
# Results are never taken from the cache: the stores behind the tests may have changed.
set -euo pipefail
cd "$(dirname "$0")/../.."
deploy/scripts/tools.sh

compile=0
[[ ${1:-} != --compile ]] || { compile=1 && shift; }
told=
[[ ${1:-} != --told ]] || { told=$2 && shift 2; }

# What is dear to compile for the race detector and gains nothing by it. SQLite is C made Go: its memory is none of Go's, and
# the detector looks at no other. go-redis has thousands of small methods to be put into one another. Debuggers do not
# come here, so nothing is noted for them. kit.Build makes the program that tests start in the same form. Nothing that makes
# instances of generic code may be left out: the linker keeps one of all that are alike, and with one that the detector does
# not see it finds races in encoding/json. Each pattern has all its flags: the last one that fits a package counts.
race=()
if [[ " $* " == *' -race '* ]]; then
  race=(-gcflags=all=-dwarf=false "-gcflags=modernc.org/sqlite/lib=-dwarf=false -race=false"
    "-gcflags=modernc.org/libc=-dwarf=false -race=false" "-gcflags=github.com/redis/go-redis/v9=-dwarf=false -l")
  STAMPEDE_TEST_RACE_FLAGS=$(printf '%s\n' "${race[@]}")
  export STAMPEDE_TEST_RACE_FLAGS
fi

if ((compile)); then
  GOGC=400 go list -trimpath "${race[@]}" -export -deps -test "$@" >/dev/null
  exit
fi
# -trimpath as everywhere: what has been compiled in one form is not compiled in another. Vet has its turn in lint.sh; here
# it would read all that is imported once more.
tests=(go test -trimpath "${race[@]}" -vet=off -json -count=1 -timeout 20m)
if [[ -z $told ]]; then
  "${tests[@]}" "$@" 2>&1 | .run/tools/verdict
  exit
fi
status=0
"${tests[@]}" "$@" 2>&1 | tee ".run/$told.json" | .run/tools/verdict >".run/$told.txt" || status=$?
sed -n 's/.*"Output":" *[a-z_]*_test.go:[0-9]*: \(.*\)\\n"}$/\1/p' ".run/$told.json"
cat ".run/$told.txt"
exit "$status"
