#!/usr/bin/env bash
# The test command: everything, from a fresh clone, on private Redis and MariaDB. Prints what it is
# doing, everything about what failed, and as its last line `N passed, N failed`. A skipped test or a
# missing service is a failure.
#
#   test.sh           lint, all tests, the page in a browser
#   test.sh --ready   and the short forms of `just crash` and `just controls`: what a change has to pass
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh
# shellcheck source=deploy/scripts/alone.sh
source deploy/scripts/alone.sh
scripts=deploy/scripts
ready=0
case ${1:-} in
'') ;;
--ready) ready=1 ;;
*) echo 'usage: test.sh [--ready]' >&2 && exit 2 ;;
esac

for program in go node npm git; do
  if ! command -v "$program" >/dev/null; then
    echo "$program is missing: Stampede is built with Go 1.26, Node 20, npm and git"
    echo '0 passed, 1 failed'
    exit 1
  fi
done

# The page and the binary may fail without keeping the rest from being tested.
step 'install and build'
begin $scripts/install.sh
installed=$begun
begin $scripts/build.sh beside
compiled=$begun
check 'npm packages' $scripts/build.sh packages || true
check 'page builds' $scripts/build.sh page || true
end "$compiled" check 'program compiles' || true
end "$installed" check 'Redis, MariaDB, nginx, Chromium, C compiler' || { conclude; exit 1; }
check 'binary builds' $scripts/build.sh binary || true

# What only computes goes on beside what mostly waits, with the processors that this leaves: while the browser is at work, what
# the Go tests are made of is compiled; during end to end the linters read.
begin "${leisurely[@]}" $scripts/go-test.sh --compile -race ./...
compiled=$begun
suite 'browser smoke test' $scripts/smoke.sh || true
end "$compiled" check 'tests compile' || true

begin "${leisurely[@]}" $scripts/lint.sh
lint=$begun
suite 'end to end' $scripts/services.sh run $scripts/go-test.sh -race -parallel "$at_once" -skip "$alone" ./app/test/e2e/... || true
end "$lint" suite 'lint' || true
suite 'end to end, one at a time' $scripts/services.sh run $scripts/go-test.sh -race -parallel 1 -run "$alone" ./app/test/e2e/... || true

# Most of them wait for something most of the time, so more are under way than there are processors. The slowest begin.
slow=(stampede/deploy/bench stampede/app/{store,account,cmd/stampede,test/money} stampede/streams stampede/realtime stampede/app/api)
mapfile -t packages < <(go list ./... | grep -vxF "$(printf '%s\n' stampede/app/test/e2e "${slow[@]}")")
packages=("${slow[@]}" "${packages[@]}")
suite 'Go tests with the race detector' $scripts/services.sh run $scripts/go-test.sh -race -p 4 "${packages[@]}" || true
suite 'page tests' $scripts/page-test.sh || true
if ((ready)); then
  suite 'crash, the short form' $scripts/crash.sh || true
  suite 'controls, the short form' $scripts/controls.sh --short || true
fi

printf '\nin %d s:\n' "$SECONDS"
conclude
