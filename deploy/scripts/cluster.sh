#!/usr/bin/env bash
# A sale on many Redis servers (app/test/cluster): a cluster of three primaries with a replica each, and a primary that three
# sentinels watch, as real processes, with two nodes, a worker and a sweeper. Primaries are killed in the middle of the
# sale, slots are moved, all of it over TLS with accounts of few rights. What was lost, told, and how long the others took
# is printed. The last line is `N passed, N failed`.
#
#   cluster.sh                  with the installed Redis, then with Valkey 9 from Debian's packages (deploy/scripts/stores.sh)
#   cluster.sh redis [FLAG…]    only with the installed Redis; valkey9 or redis8: only with that one. Flags as of `go test`
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

# cluster NAME FLAG…: the tests on one kind of server; prints what they measured.
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
  suite "a cluster, and sentinels, of $name" cluster "$name" "$@" || true
done
printf '\n'
finish
