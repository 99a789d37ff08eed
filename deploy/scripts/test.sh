#!/usr/bin/env bash
# The test command: runs everything from a fresh clone, on private Redis and MariaDB. It prints all details of a
# failure, the seconds of each part with its budget, and as its last line `N passed, N failed`. A skipped test or a
# missing service is a failure.
#
#   test.sh                the checks of CI
#   test.sh --ready BASE   also known vulnerabilities, the short crash suite, and the mutations that changed since BASE
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh
# shellcheck source=deploy/scripts/alone.sh
source deploy/scripts/alone.sh
use_memory
scripts=deploy/scripts
base=
case ${1:-} in
'') ;;
--ready) base=$(git rev-parse --verify "${2:?usage: just ready BASE}^{commit}") ;;
*) echo 'usage: test.sh [--ready BASE]' >&2 && exit 2 ;;
esac

for program in go node npm git; do
  if ! command -v "$program" >/dev/null; then
    echo "$program is missing: the build of Stampede requires Go 1.26, Node 20 or later, npm and git"
    echo '0 passed, 1 failed'
    exit 1
  fi
done

# part NAME: adds the time since the last call to a part of the run, so that all parts add up to the total. A background
# command counts only for the time that the run waits for it.
declare -A budget=([build]=60 [browser]=110 ['end to end']=140 [lint]=60 [Go]=180 [page]=30) spent=()
counted=0
part() {
  spent[$1]=$((${spent[$1]:-0} + SECONDS - counted))
  counted=$SECONDS
}

# The page or the binary may fail to build; the remaining parts still run.
step 'install and build'
begin $scripts/install.sh
installed=$begun
begin $scripts/build.sh background
compiled=$begun
check 'npm packages' $scripts/build.sh packages || true
check 'page builds' $scripts/build.sh page || true
end "$compiled" check 'program compiles' || true
end "$installed" check 'Redis, MariaDB, nginx, Chromium, C compiler' || { finish; exit 1; }
check 'binary builds' $scripts/build.sh binary || true
part build

# The browser mostly waits. The Go tests compile in the background of the browser tests, the linters run in the
# background of the end-to-end tests.
mapfile -t packages < <(go list ./... | grep -vxF stampede/app/test/e2e)
begin "${low_priority[@]}" $scripts/go-test.sh --compile -race "${packages[@]}"
compiled=$begun
suite 'browser' $scripts/smoke.sh || true
part browser
end "$compiled" check 'Go tests compile' || true
part Go

begin "${low_priority[@]}" $scripts/lint.sh
lint=$begun
suite 'end to end' $scripts/services.sh run $scripts/go-test.sh -parallel "$at_once" -skip "$serial_tests" ./app/test/e2e || true
part 'end to end'
end "$lint" suite 'lint' || true
part lint
suite 'end to end, alone' $scripts/services.sh run $scripts/go-test.sh -parallel 1 -run "$serial_tests" ./app/test/e2e || true
part 'end to end'

# Most tests mostly wait, so more packages run at once than there are processors. The slowest packages start first.
slow=(stampede/app/{store,test/money,account,cmd/stampede} stampede/streams stampede/realtime stampede/app/api)
mapfile -t packages < <(printf '%s\n' "${slow[@]}" && printf '%s\n' "${packages[@]}" | grep -vxF "$(printf '%s\n' "${slow[@]}")")
suite 'Go tests with the race detector' $scripts/services.sh run $scripts/go-test.sh -race -p 4 "${packages[@]}" || true
part Go
suite 'page tests' $scripts/page-test.sh || true
part page
if [[ -n $base ]]; then
  suite 'known vulnerabilities' $scripts/vuln.sh || true
  suite 'crash, short' $scripts/crash.sh || true
  suite "mutations since $base" $scripts/mutations.sh --since "$base" || true
fi

printf '\n'
for name in build lint Go 'end to end' browser page; do
  printf '%-12s %5d s of %4d\n' "$name" "${spent[$name]}" "${budget[$name]}"
done
printf '%-12s %5d s of  600\n' total "$counted"
finish
