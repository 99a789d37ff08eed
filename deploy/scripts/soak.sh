#!/usr/bin/env bash
# Soak test: runs the demo and its shoppers for a long time in one process. Every slot must move; memory, goroutines and
# descriptors must not grow. The last line is `N passed, N failed`.
#
#   soak.sh [FOR [SLOT [SHOPPERS]]]     default 1h 5m 100: twelve slots of the demo; 4m 20s 50 is a short run
#
# The first two minutes are the warm-up. The test needs an idle machine: on a busy one, slots pass without buys.
set -euo pipefail
cd "$(dirname "$0")/../.."
export STAMPEDE_SOAK_FOR=${1:-1h} STAMPEDE_SOAK_SLOT=${2:-5m} STAMPEDE_SOAK_SHOPPERS=${3:-100}
deploy/scripts/go-test.sh --log soak -timeout 0 -tags soak -run '^TestSoakUsesConstantResources$' ./app/cmd/stampede
