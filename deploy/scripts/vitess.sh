#!/usr/bin/env bash
# The shop on Vitess: vtcombo, which is vtgate and vttablets in one process, over the MySQL 9 of the matrix. It is built once
# from the Go module at the version in deploy/tools/vitess/go.mod and kept between runs (four minutes on two cores, 106 MB).
# On keyspaces that are not sharded, one for each test: migrations up, down, up; the tests of the stores, locks and
# isolation among them; sales from end to end.
# A sharded keyspace has to be refused. The last line is `N passed, N failed`.
#
#   vitess.sh [FLAG…]     all of it, in about ten minutes; flags as of `go test`
#   vitess.sh run CMD…    starts MySQL, Redis and vtcombo, and runs CMD with STAMPEDE_TEST_MYSQL leading to vtgate
#   vitess.sh build       only builds vtcombo, and prints where it is
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh
# shellcheck source=deploy/scripts/ports.sh
source deploy/scripts/ports.sh
scripts=deploy/scripts
module=deploy/tools/vitess
version=$(awk '$1 == "require" && $2 == "vitess.io/vitess" { print $3 }' $module/go.mod)
# Tests of app/store that make accounts of MySQL with few privileges. vtgate has accounts of its own, in a file.
accounts='^(TestNeedsAreTried|TestFaultsThatNoWaitingMends)$'
sales='TestTwoThousandBuyersAHundredUnits|TestMoneyGoesBackAndTheBackOfficeHears'
vtcombo=${XDG_CACHE_HOME:-$HOME/.cache}/stampede/vitess/vtcombo-$version

build() {
  [[ -x $vtcombo ]] || (cd $module && CGO_ENABLED=0 "${low_priority[@]}" go build -trimpath -o "$vtcombo" vitess.io/vitess/go/cmd/vtcombo)
  echo "$vtcombo"
}

# over starts vtcombo over the MySQL of STAMPEDE_TEST_MYSQL, runs the command against it, and stops it. CREATE DATABASE makes
# a keyspace (--dbddl-plugin), as the tests need them. Two keyspaces are there from the start: stampede, of one shard, and
# sharded, of two.
over() {
  local port mysql=${STAMPEDE_TEST_MYSQL##*:} dir status=0 socket user users=()
  port=$(free_port)
  dir=$(mktemp -d "${TMPDIR:-/tmp}/stampede-vtcombo-XXXXXX")
  # It refuses to be root. In a space of users that knows of none it looks like nobody, and may still open what is root's.
  local as=(setpriv --pdeathsig TERM)
  ((EUID != 0)) || as+=(unshare --user)
  for user in app appdebug allprivs dba filtered repl; do users+=("--db-$user-user" root); done
  local client=(mariadb --no-defaults --protocol=tcp -h 127.0.0.1 -u root)
  "${client[@]}" -P "${mysql%)/}" -e 'CREATE DATABASE vt_stampede_0; CREATE DATABASE `vt_sharded_-80`; CREATE DATABASE `vt_sharded_80-`'
  # By its socket: with a host vtcombo would set up replication between tablets, which are all of one server here.
  socket=$("${client[@]}" -P "${mysql%)/}" -NBe "SELECT CONCAT(@@datadir, @@socket)")
  set -m
  VTDATAROOT=$dir "${as[@]}" "$vtcombo" \
    --db-socket "$socket" --db-charset utf8mb4 "${users[@]}" \
    --proto-topo 'keyspaces { name: "stampede" shards { name: "0" } replica_count: 1 }
      keyspaces { name: "sharded" shards { name: "-80" } shards { name: "80-" } replica_count: 1 }' \
    --tablet-types-to-wait primary --tablet-refresh-interval 1s --mycnf-server-id 1 --dbddl-plugin vttest --transaction-mode SINGLE \
    --queryserver-config-transaction-timeout 10s --queryserver-config-query-timeout 30s \
    --vschema-ddl-authorized-users % --port "$(free_port)" --bind-address 127.0.0.1 \
    --mysql-auth-server-impl none --mysql-server-port "$port" --mysql-server-bind-address 127.0.0.1 \
    --mysql-server-version "$("$($scripts/stores.sh program mysql9)" --version | awk '{ print $3 }')-Vitess" \
    >"$dir/log" 2>&1 </dev/null &
  local vt=$!
  set +m
  # shellcheck disable=SC2064
  trap "kill $vt 2>/dev/null || true; wait $vt || true; cp '$dir/log' .run/vtcombo.log; rm -rf '$dir'" EXIT
  until "${client[@]}" -P "$port" -e 'SELECT 1 FROM dual' stampede >/dev/null 2>&1; do
    kill -0 "$vt" 2>/dev/null && ((SECONDS < 120)) || { echo 'vtcombo did not start:' && tail -n 5 "$dir/log" && return 1; }
    sleep 0.2
  done
  export STAMPEDE_TEST_MYSQL_BELOW=$STAMPEDE_TEST_MYSQL STAMPEDE_TEST_MYSQL="root@tcp(127.0.0.1:$port)/"
  "$@" || status=$?
  return "$status"
}

case ${1:-} in
build) build ;;
run)
  shift
  $scripts/stores.sh fetch
  build >/dev/null
  export STAMPEDE_TEST_STORES=mysql9
  exec $scripts/services.sh run "$0" over "$@"
  ;;
over)
  shift
  over "$@"
  ;;
'' | -*)
  step 'the stores and vtcombo'
  check 'MySQL from Debian packages' $scripts/stores.sh fetch && check "vtcombo $version" build || { finish; exit 1; }
  suite 'Vitess: migrations up, down, up; locks' "$0" run $scripts/go-test.sh -tags vitess -p 1 -parallel 4 "$@" ./migrations/... || true
  suite 'Vitess: the stores, isolation, a sharded keyspace' "$0" run $scripts/go-test.sh -tags vitess -parallel 4 -skip "$accounts" "$@" ./app/store || true
  suite 'Vitess: end to end' "$0" run $scripts/go-test.sh -tags vitess -parallel 2 -run "$sales" "$@" ./app/test/e2e || true
  printf '\n'
  finish
  ;;
*) sed -n '7,9s/^# *//p' "$0" >&2 && exit 2 ;;
esac
