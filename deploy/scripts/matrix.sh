#!/usr/bin/env bash
# Runs the tests on supported stores that this machine does not have: MySQL 9 with Redis 8 and with Valkey 9, MariaDB 11
# with Valkey 8. The stores come from Debian's packages in a private folder (deploy/scripts/stores.sh), which is kept
# between runs. For each pair the script validates the shipped settings; runs the migrations up, down and up again; and
# runs the tests of the stores and of the streams, the end-to-end tests and the short crash suite. The installed MariaDB
# (Debian: galera-4) also bootstraps a Galera cluster of one node. On this cluster the script runs the migrations up,
# down and up again, and the tests of app/store and app/test/money. The last line is `N passed, N failed`.
#
#   matrix.sh [PAIR…]   runs the named pairs; without arguments mysql9+redis8, mysql9+valkey9, mariadb11+valkey8, galera
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh
# shellcheck source=deploy/scripts/alone.sh
source deploy/scripts/alone.sh
scripts=deploy/scripts
pairs=("$@")
((${#pairs[@]})) || pairs=(mysql9+redis8 mysql9+valkey9 mariadb11+valkey8 galera)

# settings validates deploy/my.cnf with MySQL 9. The tests also start MySQL with this file.
settings() {
  "$($scripts/stores.sh program mysql9)" --defaults-file="$PWD/deploy/my.cnf" --validate-config
}

step 'the stores'
check 'MySQL, MariaDB, Redis and Valkey from Debian packages' $scripts/stores.sh fetch || { finish; exit 1; }
$scripts/stores.sh versions
check 'deploy/my.cnf on MySQL 9' settings || true
for pair in "${pairs[@]}"; do
  export STAMPEDE_TEST_STORES=$pair
  if [[ $pair == galera* ]]; then
    suite "$pair: migrations up, down, up; stores; money" $scripts/services.sh run $scripts/go-test.sh \
      ./migrations/... ./app/store ./app/test/money || true
    continue
  fi
  suite "$pair: migrations up, down, up; stores; streams" $scripts/services.sh run $scripts/go-test.sh \
    ./migrations/... ./app/test/kit ./app/store ./streams || true
  suite "$pair: end to end" $scripts/services.sh run $scripts/go-test.sh -parallel "$at_once" -skip "$serial_tests" ./app/test/e2e/... || true
  suite "$pair: end to end, one at a time" $scripts/services.sh run $scripts/go-test.sh -parallel 1 -run "$serial_tests" ./app/test/e2e/... ||
    true
  suite "$pair: crash, short" $scripts/crash.sh || true
done

printf '\n%s, in %d s:\n' "${pairs[*]}" "$SECONDS"
finish
