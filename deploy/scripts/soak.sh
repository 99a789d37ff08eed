#!/usr/bin/env bash
# Soak: the demo with its shoppers for long, in one process. Every slot has to move, and memory, goroutines and descriptors
# have to stay what they were. The last line is `N passed, N failed`.
#
#   soak.sh [FOR [SLOT [SHOPPERS]]]     1h 5m 100: twelve slots of the demo; 6m 20s 50 is a short form
set -euo pipefail
cd "$(dirname "$0")/../.."
export STAMPEDE_SOAK_FOR=${1:-1h} STAMPEDE_SOAK_SLOT=${2:-5m} STAMPEDE_SOAK_SHOPPERS=${3:-100}
deploy/scripts/go-test.sh --log soak -timeout 0 -tags soak -run '^TestSoak$' ./app/cmd/stampede
