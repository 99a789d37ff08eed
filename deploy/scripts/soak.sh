#!/usr/bin/env bash
# Soak: the demo with its shoppers for long, in one process. Every slot has to move, and memory, goroutines and descriptors
# have to stay what they were. The last line is `N passed, N failed`.
#
#   soak.sh [FOR [SLOT [SHOPPERS]]]     1h 5m 100: twelve slots of the demo; 6m 20s 50 is a short form
set -euo pipefail
cd "$(dirname "$0")/../.."
export STAMPEDE_SOAK_FOR=${1:-1h} STAMPEDE_SOAK_SLOT=${2:-5m} STAMPEDE_SOAK_SHOPPERS=${3:-100}
deploy/scripts/tools.sh
mkdir -p .run
status=0
go test -json -count=1 -timeout 0 -tags soak -run '^TestSoak$' -v ./app/cmd/stampede 2>&1 | tee .run/soak.json |
  .run/tools/verdict >.run/soak.txt || status=$?
sed -n 's/.*"Output":" *soak_test.go:[0-9]*: \(.*\)\\n"}$/\1/p' .run/soak.json
cat .run/soak.txt
exit "$status"
