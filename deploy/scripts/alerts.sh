#!/usr/bin/env bash
# Checks the alert rules (deploy/prometheus) with Prometheus from Debian's package. The package is unpacked into a
# private folder, not installed. The download is 19 MB, 96 MB unpacked; therefore the test command omits this check.
#
#   alerts.sh          checks rules and metrics, runs the unit tests of the rules, fires every alert once in a live run
#   alerts.sh rules    only the checks without a live run
#
# The live run has two nodes on private stores, one node on a small Redis Cluster, one node that takes payments at a
# simulated gateway, shoppers on sockets, and Prometheus, which scrapes every second. The run causes each fault, waits until its alert fires, repairs the fault and waits until
# the alert ends. The last line is `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh
# shellcheck source=deploy/scripts/ports.sh
source deploy/scripts/ports.sh

folder=${XDG_CACHE_HOME:-$HOME/.cache}/stampede/prometheus
PATH=$folder/root/usr/bin:$PATH

fetch() {
  [[ ! -x $folder/root/usr/bin/promtool ]] || return 0
  mkdir -p "$folder"
  (cd "$folder" && apt-get -q download prometheus && dpkg-deb -x prometheus_*.deb root && rm prometheus_*.deb)
}

check_rules() { promtool check config deploy/prometheus/prometheus.yml; }
test_rules() { (cd deploy/prometheus && promtool test rules alerts_test.yml); }

# each_is_fired checks that the live run below fires every alert of alerts.yml.
each_is_fired() {
  local name
  for name in $(sed -n 's/^ *- alert: //p' deploy/prometheus/alerts.yml); do
    grep -q "fires $name " deploy/scripts/alerts.sh || { echo "no fault triggers $name" && return 1; }
  done
}

# is_firing [NAME]: succeeds if this alert fires; without NAME, if any alert fires.
is_firing() {
  curl -fsSG "http://127.0.0.1:$prometheus/api/v1/query" \
    --data-urlencode "query=ALERTS{alertstate=\"firing\"${1:+,alertname=\"$1\"}}" | grep -q '"result":\[{'
}
is_quiet() { ! is_firing "$@"; }

fires() { check "$1 fires" wait_for "$2" is_firing "$1" || true; }
ends() { check "$1 ends" wait_for "$2" is_quiet "$1" || true; }

store() { kill "-$2" "$(<"$TMPDIR/../$1.pid")"; }

# node NAME ROLES: starts a node in the background.
node() {
  STAMPEDE_LISTEN=127.0.0.1:${listen[$1]} STAMPEDE_METRICS_LISTEN=127.0.0.1:${metrics[$1]} STAMPEDE_ROLES=$2 \
    bin/stampede serve >>"$TMPDIR/$1.log" 2>&1 </dev/null &
  nodes[$1]=$!
  wait_for 60 curl -fsS "http://127.0.0.1:${metrics[$1]}/readyz"
}

# primary NAME: starts a primary of the private Redis Cluster.
primary() {
  mkdir "$TMPDIR/$1"
  primaries[$1]=$(free_port)
  redis-server --port "${primaries[$1]}" --bind 127.0.0.1 --dir "$TMPDIR/$1" --save '' --appendonly yes \
    --maxmemory-policy noeviction --cluster-enabled yes --cluster-port "$(free_port)" \
    --cluster-require-full-coverage no >"$TMPDIR/$1.log" 2>&1 </dev/null &
  others+=($!)
  last_primary=$!
  wait_for 20 redis-cli -p "${primaries[$1]}" PING
}

# clustered starts a third node for a separate shop on three primaries.
clustered() {
  local name
  declare -gA primaries=()
  for name in first second third; do primary "$name"; done
  redis-cli --cluster create "${primaries[@]/#/127.0.0.1:}" --cluster-yes >"$TMPDIR/cluster.log"
  local -x STAMPEDE_REDIS_URL=redis-cluster://127.0.0.1:${primaries[first]}
  local -x STAMPEDE_MYSQL_DSN=${STAMPEDE_TEST_MYSQL}alerts_cluster
  sql 'CREATE DATABASE alerts_cluster'
  bin/stampede migrate up
  node c api,sweeper # without a worker: no entry is read
}

# sql STATEMENT: runs the statement on the private MariaDB.
sql() {
  local database=${STAMPEDE_TEST_MYSQL#*:}
  mariadb --no-defaults --protocol=tcp --host=127.0.0.1 --port="${database%%)*}" --user=root -e "$1"
}

# slow_redis stops Redis for most of the time.
slow_redis() {
  while :; do
    store redis STOP
    sleep 0.5
    store redis CONT
    sleep 0.05
  done
}

# crowd runs shoppers who buy on sockets. When the load generator ends, crowd starts it again.
crowd() {
  local load
  trap 'kill "$load" 2>/dev/null; exit' TERM
  while :; do
    bin/stampede load buy --target "127.0.0.1:${listen[a]}" --sockets 40 --rate 40 --for 10m \
      >>"$TMPDIR/load.log" 2>&1 &
    load=$!
    wait "$load" || true
    sleep 1
  done
}

live() {
  local name
  declare -gA listen metrics nodes
  for name in a b c d; do listen[$name]=$(free_port) metrics[$name]=$(free_port); done
  prometheus=$(free_port)
  sql 'CREATE DATABASE alerts'
  # The nodes use an ordinary account, which cannot write while the database is read-only.
  sql "CREATE USER shop@'%'; GRANT SELECT, INSERT, UPDATE, DELETE ON alerts.* TO shop@'%'"
  export STAMPEDE_REDIS_URL=$STAMPEDE_TEST_REDIS STAMPEDE_MYSQL_DSN=shop@${STAMPEDE_TEST_MYSQL#*@}alerts
  export STAMPEDE_JWT_SECRET=a-key-for-tests-only-0123456789abcdef STAMPEDE_DATA=$TMPDIR/data STAMPEDE_PAY_WINDOW=1h
  export STAMPEDE_HANDSHAKE_RATE=0 STAMPEDE_BUY_RATE=0 STAMPEDE_BUY_USER_RATE=0 STAMPEDE_BUY_ALL_RATE=0
  trap 'kill "${nodes[@]}" "${others[@]}" 2>/dev/null || true; wait 2>/dev/null || true' EXIT
  others=()
  STAMPEDE_MYSQL_DSN=${STAMPEDE_TEST_MYSQL}alerts bin/stampede migrate up
  node a api,worker,sweeper
  node b api
  clustered
  cat >"$TMPDIR/prometheus.yml" <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$PWD/deploy/prometheus/alerts.yml]
scrape_configs:
  - job_name: stampede
    static_configs: [{targets: ["127.0.0.1:${metrics[a]}", "127.0.0.1:${metrics[b]}", "127.0.0.1:${metrics[c]}"]}]
  - job_name: money # starts later, so its node may be down
    static_configs: [{targets: ["127.0.0.1:${metrics[d]}"]}]
END
  prometheus --config.file="$TMPDIR/prometheus.yml" --storage.tsdb.path="$TMPDIR/tsdb" \
    --web.listen-address="127.0.0.1:$prometheus" >"$TMPDIR/prometheus.log" 2>&1 </dev/null &
  others+=($!)
  wait_for 30 curl -fsS "http://127.0.0.1:$prometheus/-/ready"
  crowd &
  others+=($!)
  check 'promtool accepts the live metrics' metrics_are_fine || true
  check 'all nodes are scraped' wait_for 20 all_are_up || true
  sleep 45 # with traffic: the window (15 s) and the duration (30 s) of StampedeLagGrows
  check 'no alert fires without a fault' is_quiet || true

  store mariadb STOP
  fires StampedeDatabaseAway 30
  fires StampedeNothingMoving 60
  fires StampedeLagGrows 90
  store mariadb CONT
  fires StampedeSlowOrders 60
  ends StampedeDatabaseAway 30
  ends StampedeNothingMoving 60
  ends StampedeLagGrows 60
  ends StampedeSlowOrders 90

  sql 'SET GLOBAL read_only = 1'
  fires StampedeDatabaseReadOnly 40
  sql 'SET GLOBAL read_only = 0'
  ends StampedeDatabaseReadOnly 60

  sql "ALTER USER shop@'%' WITH MAX_USER_CONNECTIONS 1"
  fires StampedeDatabaseConnections 90
  sql "ALTER USER shop@'%' WITH MAX_USER_CONNECTIONS 0"
  ends StampedeDatabaseConnections 60

  slow_redis &
  others+=($!)
  fires StampedeRedisSlow 40
  kill "$!"
  store redis CONT
  ends StampedeRedisSlow 40

  store redis STOP
  fires StampedeRedisAway 40
  store redis CONT
  ends StampedeRedisAway 40

  redis-cli -u "$STAMPEDE_REDIS_URL" CONFIG SET maxmemory-policy allkeys-lru >/dev/null
  fires StampedeRedisSetting 40
  redis-cli -u "$STAMPEDE_REDIS_URL" CONFIG SET maxmemory-policy noeviction >/dev/null
  ends StampedeRedisSetting 40

  redis-cli -u "$STAMPEDE_REDIS_URL" CONFIG SET maxmemory 1 >/dev/null
  fires StampedeWritesRejected 40
  redis-cli -u "$STAMPEDE_REDIS_URL" CONFIG SET maxmemory 0 >/dev/null
  ends StampedeWritesRejected 40

  local stream
  stream=$(redis-cli -p "${primaries[first]}" --scan --pattern 'stampede:{*}:orders' | head -n 1)
  redis-cli -p "${primaries[first]}" XADD "$stream" "$((($(date +%s) - 600) * 1000))-0" terms old >/dev/null
  fires StampedeEntryStuck 40
  redis-cli -p "${primaries[first]}" XTRIM "$stream" MAXLEN 0 >/dev/null
  ends StampedeEntryStuck 40

  sql "INSERT INTO alerts.problems (order_id, sale_id, part, user_id, reason, found_at) VALUES (1, 1, 0, 1, 'a drill', 1)"
  fires StampedeOrdersToSettle 40
  sql 'DELETE FROM alerts.problems WHERE order_id = 1'
  ends StampedeOrdersToSettle 40

  sql 'SET GLOBAL rpl_semi_sync_master_timeout = 100; SET GLOBAL rpl_semi_sync_master_enabled = 1'
  fires StampedeDatabaseAtRisk 40 # no replica confirms a commit in time
  sql 'SET GLOBAL rpl_semi_sync_master_enabled = 0'
  ends StampedeDatabaseAtRisk 40

  kill -STOP "$last_primary"
  fires StampedePartitionAway 40
  kill -CONT "$last_primary"
  ends StampedePartitionAway 40

  kill -KILL "${nodes[b]}"
  fires StampedeNodeDown 40
  node b api
  ends StampedeNodeDown 40

  redis-cli -u "$STAMPEDE_REDIS_URL" XADD 'stampede:{0}:orders' '*' terms rubbish >/dev/null
  fires StampedeDeadLetters 60
  redis-cli -u "$STAMPEDE_REDIS_URL" DEL 'stampede:{0}:dead' >/dev/null # the entry belongs to no order
  ends StampedeDeadLetters 30

  money_faults

  store mariadb STOP
  sleep 3 # reservations arrive and get no rows
  redis-cli -u "$STAMPEDE_REDIS_URL" FLUSHALL >/dev/null
  store mariadb CONT
  fires StampedeReservationsLost 90
  fires StampedeErrors 60
  ends StampedeReservationsLost 120
  ends StampedeErrors 120
}

# field NAME: prints a field of the JSON response on standard input.
field() { sed -E 's/.*"'"$1"'":"?([^",}]+).*/\1/'; }

# call METHOD PATH [JSON]: calls the API of node d as a guest.
call() {
  curl -sS -X "$1" "http://127.0.0.1:${listen[d]}/api/v1$2" -H "Authorization: Bearer ${token:-}" \
    -H 'Content-Type: application/json' ${3:+-d "$3"}
}

open_sale() { call GET '/sales?phase=open&size=1' | sed -E 's/^\{"sales":\[\{"id":"([0-9]+)".*/\1/'; }

# money_faults causes the faults of payments, postings and certificates on node d, which has its own shop.
money_faults() {
  local redis=$STAMPEDE_TEST_REDIS/7 gateway certificate token sale order key
  local -x STAMPEDE_REDIS_URL=$STAMPEDE_TEST_REDIS/7 STAMPEDE_MYSQL_DSN=${STAMPEDE_TEST_MYSQL}alerts_money
  gateway=$(free_port) certificate=$(free_port)
  bin/stampede alipay-sim --listen "127.0.0.1:$gateway" --data "$TMPDIR/alipay" >"$TMPDIR/alipay.log" 2>&1 </dev/null &
  others+=($!)
  local simulator=$!
  wait_for 10 test -s "$TMPDIR/alipay/env"
  openssl req -x509 -newkey rsa:2048 -nodes -days 5 -subj /CN=127.0.0.1 -keyout "$TMPDIR/key.pem" -out "$TMPDIR/page.pem" \
    2>/dev/null
  openssl s_server -accept "127.0.0.1:$certificate" -cert "$TMPDIR/page.pem" -key "$TMPDIR/key.pem" -quiet \
    >"$TMPDIR/page.log" 2>&1 </dev/null &
  others+=($!)
  sql 'CREATE DATABASE alerts_money'
  bin/stampede migrate up
  sql 'RENAME TABLE alerts_money.addresses TO alerts_money.renamed'
  (
    set -a
    # shellcheck disable=SC1091
    source "$TMPDIR/alipay/env"
    STAMPEDE_PAY_WINDOW=5s STAMPEDE_GUEST_LOGIN=true STAMPEDE_PERSONAL_DATA_AFTER=48h \
      STAMPEDE_PUBLIC_URL=https://127.0.0.1:$certificate STAMPEDE_LISTEN=127.0.0.1:${listen[d]} \
      STAMPEDE_METRICS_LISTEN=127.0.0.1:${metrics[d]} exec bin/stampede serve >"$TMPDIR/d.log" 2>&1 </dev/null
  ) &
  nodes[d]=$!
  wait_for 60 curl -fsS "http://127.0.0.1:${metrics[d]}/readyz"
  fires StampedeCertificateEnds 40
  fires StampedePersonalDataStays 40
  sql 'RENAME TABLE alerts_money.renamed TO alerts_money.addresses'
  bin/stampede seed --rolling # afterwards, because personal data is not removed around openings

  for _ in {1..12}; do
    curl -sS -o /dev/null -d 'trade_no=1&sign=x&sign_type=RSA2' "http://127.0.0.1:${listen[d]}/api/v1/payments/alipay/notify"
  done
  fires StampedeForgedNotifications 40

  token=$(call POST /auth/guest | field access)
  sale=$(open_sale)
  order=$(call POST "/sales/$sale/buy" '{"qty":1,"key":"a-late-buyer","address":{"name":"Ada","phone":"13800000000","text":"1 Long Street"}}' |
    field order)
  wait_for 20 eval "call GET /orders/$order | grep -q pending"
  call POST "/orders/$order/pay" '{"via":"page"}' >"$TMPDIR/pay.json"
  kill -STOP "$simulator"
  fires StampedeTradesUnanswered 120
  kill -CONT "$simulator"
  ends StampedeTradesUnanswered 120
  ends StampedeForgedNotifications 60

  sql "INSERT INTO alerts_money.differences VALUES (1, 'odd', 'a drill', 1)"
  fires StampedePaymentsDiffer 40
  sql 'DELETE FROM alerts_money.differences'
  ends StampedePaymentsDiffer 40

  sql "INSERT INTO alerts_money.refunds VALUES ('R1', 1, 'stuck', 100, 'a drill', 0, 1, 0, 1, 0, 1, NULL, '')"
  fires StampedeRefundsStuck 40
  sql 'DELETE FROM alerts_money.refunds'
  ends StampedeRefundsStuck 40

  sql "INSERT INTO alerts.payments VALUES ('T1', 1, 100, 1, 1, 'late', 1)" # its nodes take no payments and do not decide
  fires StampedePaymentsUndecided 40
  sql 'DELETE FROM alerts.payments'
  ends StampedePaymentsUndecided 40

  for key in 'backoffice}:parked' 'mail}:dead'; do
    redis-cli -u "$redis" XADD "stampede:{$key" '*' kind rubbish >/dev/null
  done
  fires StampedePostingsQuarantined 40
  fires StampedeMailsQuarantined 40
  redis-cli -u "$redis" DEL 'stampede:{backoffice}:parked' >/dev/null
  redis-cli -u "$redis" DEL 'stampede:{mail}:dead' >/dev/null
  ends StampedePostingsQuarantined 40
  ends StampedeMailsQuarantined 40

  sql "UPDATE alerts_money.sales SET taken = taken + 1 WHERE id = $sale"
  fires StampedeSalesDiffer 60
  sql "UPDATE alerts_money.sales SET taken = taken - 1 WHERE id = $sale"
  ends StampedeSalesDiffer 60

  sale=$(open_sale)
  key=$(redis-cli -u "$redis" --scan --pattern "stampede:{*}:sale:$sale")
  redis-cli -u "$redis" HSET "$key" stuck 'a drill' >/dev/null
  fires StampedeSaleStuck 40
  redis-cli -u "$redis" HDEL "$key" stuck >/dev/null
  ends StampedeSaleStuck 40

  store mariadb STOP # the recovery cannot end
  redis-cli -u "$redis" HSET 'stampede:{0}:meta' state recovering lost 1 closed_at 1 >/dev/null
  fires StampedePartitionClosed 40
  store mariadb CONT
  ends StampedePartitionClosed 60
  kill "${nodes[d]}"
}

metrics_are_fine() { curl -fsS "http://127.0.0.1:${metrics[a]}/metrics" | promtool check metrics; }
all_are_up() {
  curl -fsSG "http://127.0.0.1:$prometheus/api/v1/query" --data-urlencode 'query=sum(up{job="stampede"})' | grep -q '"3"'
}

case ${1:-} in
live)
  live
  finish
  exit
  ;;
'' | rules) ;;
*) sed -n '5,6s/^# *//p' "$0" >&2 && exit 2 ;;
esac
step 'the alert rules'
check 'Prometheus from a Debian package' fetch || { finish; exit 1; }
check 'promtool check config and rules' check_rules || true
check 'promtool test rules' test_rules || true
check 'a fault triggers every alert' each_is_fired || true
if [[ -z ${1:-} ]]; then
  check 'the program' deploy/scripts/build.sh binary || { finish; exit 1; }
  suite 'a live run' env STAMPEDE_TEST_BINLOG=1 deploy/scripts/services.sh run deploy/scripts/alerts.sh live || true
fi
finish
