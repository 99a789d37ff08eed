#!/usr/bin/env bash
# Restarts two nodes behind the shipped nginx (app/test/e2e/nginx_restart_test.go). Then restarts every node of a shop,
# one after the other, while buyers buy (app/test/crash/rolling_test.go). Prints `N passed, N failed` twice, then the
# report and the figures.
#
#   rolling.sh [FLAG…]            flags of the second `go test`; -crowd N buyers (200), -rounds N times (2), -seed N
#   rolling.sh --write [FLAG…]    writes the measurements into deploy/load/RESULTS.md
set -euo pipefail
cd "$(dirname "$0")/../.."

figures=.run/rolling.json
[[ ${1:-} != --write ]] || { figures=deploy/load/rolling.json && shift; }
mkdir -p .run
deploy/scripts/services.sh run deploy/scripts/go-test.sh ./app/test/e2e \
  -run '^TestSocketsReturnAfterRollingRestartBehindNginx$' -all-restarts
deploy/scripts/services.sh run deploy/scripts/go-test.sh -tags crashpoints ./app/test/crash \
  -run '^TestRollingRestartLosesNoOrder$' -crowd 200 -rounds 2 -figures "$PWD/$figures" "$@"
cat .run/crash/report.txt "$figures"
[[ $figures == .run/* ]] || deploy/scripts/bench.sh --render >/dev/null
