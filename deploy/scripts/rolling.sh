#!/usr/bin/env bash
# Restarts every node of a shop in order, one after the other, while people buy (app/test/crash/rolling_test.go). The last
# line is `N passed, N failed`.
#
#   rolling.sh [FLAG…]            flags as of `go test`; -crowd N people (200), -rounds N times (2), -seed N
#   rolling.sh --write [FLAG…]    puts what was measured into deploy/load/RESULTS.md
set -euo pipefail
cd "$(dirname "$0")/../.."

figures=.run/rolling.json
[[ ${1:-} != --write ]] || { figures=deploy/load/rolling.json && shift; }
mkdir -p .run
deploy/scripts/services.sh run deploy/scripts/go-test.sh -tags crashpoints ./app/test/crash \
  -run '^TestRollingRestart$' -crowd 200 -rounds 2 -figures "$PWD/$figures" "$@"
cat .run/crash/report.txt "$figures"
[[ $figures == .run/* ]] || deploy/scripts/bench.sh --render >/dev/null
