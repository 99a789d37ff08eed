#!/usr/bin/env bash
# The test command: everything, from a fresh clone, on private Redis and MariaDB. Prints what it is
# doing, everything about what failed, and as its last line `N passed, N failed`. A skipped test or a
# missing service is a failure.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh
scripts=deploy/scripts

for program in go node npm git; do
  if ! command -v "$program" >/dev/null; then
    echo "$program is missing: Stampede is built with Go 1.26, Node 20, npm and git"
    echo '0 passed, 1 failed'
    exit 1
  fi
done

# The page and the binary may fail without keeping the rest from being tested.
step 'install and build'
check 'Redis, MariaDB, Chromium, C compiler' $scripts/install.sh || { conclude; exit 1; }
check 'npm packages' $scripts/build.sh packages || true
check 'page builds' $scripts/build.sh page || true
check 'binary builds' $scripts/build.sh binary || true

suite 'lint' $scripts/lint.sh || true
mapfile -t packages < <(go list ./... | grep -v '^stampede/app/e2e')
suite 'Go tests with the race detector' $scripts/services.sh run $scripts/go-test.sh -race "${packages[@]}" || true
suite 'page tests' $scripts/page-test.sh || true
suite 'browser smoke test' $scripts/smoke.sh || true
suite 'end to end' $scripts/services.sh run $scripts/go-test.sh -race ./app/e2e/... || true

printf '\nin %d s:\n' "$SECONDS"
conclude
