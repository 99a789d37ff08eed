#!/usr/bin/env bash
# The shop on a MariaDB Galera Cluster: three nodes on loopback, made of the installed mariadb-server and galera-4, which
# get their data from each other by rsync. Migrations up, down, up; conflicts between nodes, a lost majority, and a sale
# whose node is killed and whose address moves; then the tests of the stores, with the first node as their server. The
# last line is `N passed, N failed`.
#
#   galera.sh [FLAG…]   flags as of `go test`, for the tests of Galera itself
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh
scripts=deploy/scripts

$scripts/tools.sh
suite 'Galera: nodes, conflicts, majority, moves' $scripts/services.sh run $scripts/go-test.sh -tags galera -run Galera \
  -parallel 2 "$@" ./app/test/kit ./app/store ./app/test/e2e || true
unset STAMPEDE_TEST_MYSQL # the tests start the cluster themselves
export STAMPEDE_TEST_GALERA=1
suite 'the stores on a node of Galera' $scripts/go-test.sh -parallel 4 ./migrations/... ./app/store || true
printf '\n'
finish
