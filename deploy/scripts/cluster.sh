#!/usr/bin/env bash
# Tests sales on several Redis servers (app/test/cluster), which run as real processes: a cluster of three primaries with one replica
# each, and a primary with three sentinels. Primaries are killed and slots move during the sale; all connections use TLS
# and accounts with few permissions. Prints the lost reservations and the latencies of buys on the other primaries. The
# last line is `N passed, N failed`.
#
#   cluster.sh                  on the installed Redis, then on Valkey 9 from Debian (deploy/scripts/stores.sh)
#   cluster.sh STORE [FLAG…]    only on redis (installed), redis8 or valkey9; flags of `go test`
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh
scripts=deploy/scripts

stores=(redis valkey9)
case ${1:-} in
redis | redis8 | valkey9) stores=("$1") && shift ;;
'') ;;
*) sed -n '7,8s/^# *//p' "$0" >&2 && exit 2 ;;
esac

# cluster NAME FLAG…: runs the tests on one kind of server and prints their measurements.
cluster() {
  local name=$1
  shift
  [[ $name == redis ]] || export STAMPEDE_TEST_STORES=$name
  $scripts/services.sh run $scripts/go-test.sh --log "cluster-$name" -tags cluster "$@" ./app/test/cluster
}

for name in "${stores[@]}"; do
  if [[ $name != redis ]]; then
    check "$name from Debian packages" $scripts/stores.sh fetch || continue
  fi
  suite "$name: cluster and sentinels" cluster "$name" "$@" || true
done
printf '\n'
finish
