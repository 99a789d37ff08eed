#!/usr/bin/env bash
# The archive with many orders, on a private MariaDB: how fast they move, for how long their rows are locked, what buys lose
# meanwhile, what the tables take on disk.
#
#   archive.sh [ORDERS]    1,000,000 without a number; some ten minutes and 2 GB
set -euo pipefail
cd "$(dirname "$0")/../.."

orders=${1:-1000000}
[[ $orders =~ ^[0-9]+$ && $orders -ge 1000 ]] || { echo "archive.sh: $orders: want a number of orders from 1000 on" >&2; exit 2; }
export STAMPEDE_ARCHIVE_ORDERS=$orders
deploy/scripts/services.sh run go test -count=1 -timeout 60m -run '^TestArchiveAtScale$' -v ./app/store |
  grep --line-buffered -v '^=== '
