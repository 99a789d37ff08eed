#!/usr/bin/env bash
# The benchmarks that stand behind the numbers of the README, on private stores with full durability.
# Each runs both ways of doing a thing side by side and prints how many times faster ours is, so the
# figure means something on any machine. A pattern selects: bench.sh Gate
set -euo pipefail
cd "$(dirname "$0")/../.."
exec deploy/scripts/services.sh run \
  go test -run '^$' -bench "Ratio.*${1:-}" -benchtime 1x -timeout 10m ./streams ./app/store ./realtime
