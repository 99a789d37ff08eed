#!/usr/bin/env bash
# Both stores are lost in the middle of a sale with payments, and backups are restored on the same host, port and
# server_id: once with the backup of Redis, once with an empty Redis. The gateway's lists show which paid orders the
# backups lack. The lists are complete after five minutes, so the drill takes a quarter of an hour.
# shellcheck source=deploy/drills/common.sh
source "$(dirname "$0")/common.sh"

gateway_port=$(free_port)
bin/stampede alipay-sim --listen "127.0.0.1:$gateway_port" --data "$TMPDIR/alipay" >"$TMPDIR/gateway.log" 2>&1 &
others+=($!)
wait_for 30 test -s "$TMPDIR/alipay/env"
set -a
# shellcheck disable=SC1091
source "$TMPDIR/alipay/env"
set +a
gateway() { command curl -sS -f --max-time 10 "http://127.0.0.1:$gateway_port$1" "${@:2}"; }
wait_for 30 gateway /admin/ledger

printf '[client]\nprotocol = tcp\nhost = 127.0.0.1\nport = %s\nuser = root\n' "$database_port" >"$TMPDIR/backup.cnf"
export BACKUP_MYCNF=$TMPDIR/backup.cnf BACKUP_REDIS="-p $redis_port" STAMPEDE=$PWD/bin/stampede
redis_dir=$(realpath "$TMPDIR/..")/redis

user=100 # of the last buyer
# call PATH [BODY]: a request of the last buyer to the node; prints the response.
call() {
  local body=(${2:+-X POST -H 'Content-Type: application/json' -d "$2"})
  curl -f "http://$node:8080/api/v1$1" -H "Authorization: Bearer $(stampede token --user "$user")" "${body[@]}"
}
# buy: another buyer orders one unit; sets order.
buy() {
  user=$((user + 1))
  order=$(call "/sales/$sale/buy" "{\"qty\":1,\"key\":\"drill-$user\"}" | sed -E 's/.*"order":"([0-9]+)".*/\1/')
}
# open_payment: the last buyer opens the page of the gateway.
open_payment() {
  local url
  wait_for 20 call "/orders/$order/pay" '{"via":"page"}'
  url=$(call "/orders/$order/pay" '{"via":"page"}' | sed -E 's/.*"url":"([^"]+)".*/\1/; s/\\u0026/\&/g')
  command curl -sS -f -L --max-time 10 -o /dev/null "$url"
}
pay() { gateway "/admin/trades/$order/pay" -X POST >/dev/null; }
state_of() { mariadb -N stampede -e "SELECT state FROM orders WHERE id = $1"; }
is_paid() { [[ $(state_of "$order") == paid ]]; }
buy_and_pay() {
  buy
  open_payment
  pay
  wait_for 20 is_paid
}

# unexplained prints the number of trades whose money is not at the shop for a paid order, refunded, or on the list.
unexplained() {
  mariadb -N stampede -e "SELECT COUNT(*) FROM (SELECT order_id, taken - refunded AS kept
      FROM JSON_TABLE('$(gateway /admin/ledger | tr -d "'")', '\$.trades[*]' COLUMNS (order_id BIGINT PATH '\$.order',
        taken BIGINT PATH '\$.taken_fen' DEFAULT '0' ON EMPTY,
        refunded BIGINT PATH '\$.refunded_fen' DEFAULT '0' ON EMPTY)) AS j) AS t
    LEFT JOIN orders AS o ON o.id = t.order_id
    WHERE kept <> IF(o.state IN ('paid', 'shipped', 'finished'), o.amount_fen - o.refunded_fen, 0)
      AND t.order_id NOT IN (SELECT order_id FROM differences)"
}

# lose_and_restore REDIS: takes a backup, sells and takes money, loses both stores, and restores the backup: `older` with
# the backup of Redis, `empty` without it.
lose_and_restore() {
  local paid_after lost unpaid backup=$TMPDIR/backup-$1 from=(--without-redis) n
  crowd "$node"
  buy_and_pay
  buy
  open_payment
  paid_after=$order
  explain "The backup during buys ($1)."
  show_output "deploy/scripts/backup.sh $backup"
  explain 'Later changes, which no backup has: an order of the backup is paid; others are new, and paid or not.'
  pay
  wait_for 20 is_paid
  for n in {1..10}; do buy_and_pay; done
  lost=$order
  buy
  unpaid=$order unpaid_user=$user
  end_crowd

  explain 'Both stores are lost: all servers are killed.'
  signal "$node" KILL
  store redis KILL
  wait_for 20 redis_is_gone
  rm -r "$redis_dir/appendonlydir"
  [[ $1 != older ]] || from=(--redis-dir "$redis_dir")
  show_output "deploy/scripts/restore.sh ${from[*]} --replace $backup"
  restart_redis
  wait_output 60 'sales are paused' 'stampede recover --restored'

  node=$1
  unset STAMPEDE_URL
  node "$node" api,worker,sweeper
  explain 'Sales are paused: no buyer gets a unit of a lost paid order.'
  user=$((user + 1))
  show_output "call /sales/$sale/buy '{\"qty\":1,\"key\":\"drill-$user\"}'"
  wait_output 480 'sales continue after a restore' "log $node | grep -E 'gateway.s lists|written again' | tail -n 5"
  wait_output 120 '^0$' unexplained
  for order in "$paid_after" "$lost"; do wait_for 60 is_paid; done
  explain 'The buyer of an order that was not paid sees that it does not exist. Its units are on sale.'
  user=$unpaid_user
  [[ -z $(state_of "$unpaid") ]]
  wait_output 20 'not_found' "show_order $unpaid"
  wait_output 120 'no differences' 'stampede pay reconcile'
  user=$((user + 100))
  wait_for 60 buy_again
  wait_for 60 settled
  wait_output 60 '^[1-9][0-9]* sales audited, 0 failed$' 'stampede audit | tail -n 1'
}
show_order() { curl "http://$node:8080/api/v1/orders/$1" -H "Authorization: Bearer $(stampede token --user "$user")"; }
redis_is_gone() { ! redis-cli ping >/dev/null 2>&1; }
buy_again() { buy && [[ $order =~ ^[0-9]+$ ]]; }

node=first
node first api,worker,sweeper
stampede load buy --target "127.0.0.1:${listen[first]}" --sockets 1 --hot 1 --rate 1 --for 1s >/dev/null # creates sales
sale=$(redis-cli --raw --scan --pattern 'stampede:{*}:sale:*' | grep -E ':sale:[0-9]+$' | head -n 1) sale=${sale##*:}
lose_and_restore older
lose_and_restore empty
finish_drill
