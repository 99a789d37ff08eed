#!/usr/bin/env bash
# Payments stop: the gateway is unreachable. An order with an open payment does not expire before the gateway reports
# the result of that payment.
# shellcheck source=deploy/drills/common.sh
source "$(dirname "$0")/common.sh"

gateway_port=$(free_port)
gateway() {
  bin/stampede alipay-sim --listen "127.0.0.1:$gateway_port" --data "$TMPDIR/alipay" >>"$TMPDIR/gateway.log" 2>&1 &
  alipay=$!
  others+=("$alipay")
  wait_for 30 test -s "$TMPDIR/alipay/env" && wait_for 30 curl -f "http://127.0.0.1:$gateway_port/admin/ledger"
}
gateway
set -a
# shellcheck disable=SC1091
source "$TMPDIR/alipay/env"
STAMPEDE_PAY_WINDOW=15s STAMPEDE_ALIPAY_TIMEOUT=2s
set +a
node a api,worker,sweeper

# One shopper, one unit.
stampede load buy --target "127.0.0.1:${listen[a]}" --sockets 1 --hot 1 --rate 1 --for 1s >/dev/null # creates sales
sale=$(redis-cli --raw --scan --pattern 'stampede:{*}:sale:*' | grep -E ':sale:[0-9]+$' | head -n 1) sale=${sale##*:}
token=$(stampede token --user 7)
api() { curl -f -X POST "http://a:8080/api/v1$1" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d "$2"; }
order=$(api "/sales/$sale/buy" '{"qty":1,"key":"drill-0001"}' | sed -E 's/.*"order":"([0-9]+)".*/\1/')
wait_for 20 api "/orders/$order/pay" '{"via":"page"}'

explain 'A buyer has opened the payment, and the gateway is unreachable. The deadline of the order has passed, but the order does not end.'
kill -STOP "$alipay"
wait_output 60 'waiting [1-9]' "curl http://a:9090/metrics | grep '^stampede_trades_\(waiting\|unanswered_total\)'"
show_output "mariadb -t stampede -e 'SELECT state, pay_by < UTC_TIMESTAMP(3) AS overdue, trade_opened FROM orders WHERE id = $order'"
explain 'Its unit stays held, because it may have been paid. Other orders continue: orders without a payment end in time.'
show_output "log a | grep 'reconcile payments' | tail -n 1"
explain 'Remedy: restore the connection to the gateway. The state of each order is queried again after 2 s.'
kill -CONT "$alipay"
wait_output 40 'waiting 0' "curl http://a:9090/metrics | grep '^stampede_trades_waiting'"
wait_output 20 'expired' "mariadb -t stampede -e 'SELECT state FROM orders WHERE id = $order'"
finish_drill
