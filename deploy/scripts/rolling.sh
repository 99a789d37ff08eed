#!/usr/bin/env bash
# Restarts every node of a shop, one after the other, while buyers buy (app/test/crash/rolling_test.go). Prints
# `N passed, N failed`, then the report and the figures.
#
#   rolling.sh [FLAG…]            flags of `go test`; -crowd N buyers (200), -rounds N times (2), -seed N
#   rolling.sh --write [FLAG…]    writes the measurements into deploy/load/RESULTS.md
set -euo pipefail
cd "$(dirname "$0")/../.."

figures=.run/rolling.json
[[ ${1:-} != --write ]] || { figures=deploy/load/rolling.json && shift; }
mkdir -p .run
deploy/scripts/services.sh run deploy/scripts/go-test.sh -tags crashpoints ./app/test/crash \
  -run '^TestRollingRestartLosesNoOrder$' -crowd 200 -rounds 2 -figures "$PWD/$figures" "$@"
cat .run/crash/report.txt "$figures"
[[ $figures == .run/* ]] || deploy/scripts/bench.sh --render >/dev/null
