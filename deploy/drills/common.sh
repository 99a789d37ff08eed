# Sourced by every drill. Provides nodes on the private stores of `deploy/scripts/services.sh run`, simulated buyers,
# and functions that print the transcript:
#
#   `explain` TEXT                            prints a sentence
#   `wait_output` SECONDS PATTERN 'COMMAND'   prints the command and its output as soon as the output
#                                             matches the pattern; fails after SECONDS
#   `show_output` 'COMMAND'                   prints the command and its output
#
# In these commands redis-cli, mariadb, stampede and curl reach the private stores and the nodes.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=deploy/scripts/ports.sh
source deploy/scripts/ports.sh
: "${STAMPEDE_TEST_REDIS:?run it with deploy/drills/run.sh}" "${STAMPEDE_TEST_MYSQL:?}"

database_port=${STAMPEDE_TEST_MYSQL#*:} database_port=${database_port%%)*}
redis_port=${STAMPEDE_TEST_REDIS##*:}
export STAMPEDE_REDIS_URL=$STAMPEDE_TEST_REDIS STAMPEDE_MYSQL_DSN=${STAMPEDE_TEST_MYSQL}stampede
export STAMPEDE_JWT_SECRET=a-key-for-tests-only-0123456789abcdef STAMPEDE_DATA=$TMPDIR/data STAMPEDE_PAY_WINDOW=1h
# The crowd uses a few addresses of this machine, so the limits per address are off.
export STAMPEDE_HANDSHAKE_RATE=0 STAMPEDE_BUY_RATE=0 STAMPEDE_BUY_USER_RATE=0 STAMPEDE_BUY_ALL_RATE=0
export STAMPEDE_RETURN_WITHIN=0s STAMPEDE_PARTITIONS=2

unset STAMPEDE_URL
declare -A listen=() metrics=() nodes=()
others=() # ids of other processes that `finish` kills
crowd_pid= # of the load generator; empty: no crowd runs
width=118 lines=12

# finish kills the nodes and the other processes of the drill.
finish() {
  local pid
  for pid in "${nodes[@]}" "${others[@]}"; do
    kill -CONT "$pid" 2>/dev/null || true
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
}
trap finish EXIT

redis-cli() { command redis-cli -p "$redis_port" "$@"; }
mariadb() { command mariadb --no-defaults --protocol=tcp --host=127.0.0.1 --port="$database_port" --user=root "$@"; }
mariadb-dump() {
  command mariadb-dump --no-defaults --protocol=tcp --host=127.0.0.1 --port="$database_port" --user=root "$@"
}
stampede() { bin/stampede "$@"; }
# curl reaches the node NAME as http://NAME:8080, and its metrics listener as http://NAME:9090.
curl() {
  local name to=()
  for name in "${!listen[@]}"; do
    to+=(--connect-to "$name:8080:127.0.0.1:${listen[$name]}" --connect-to "$name:9090:127.0.0.1:${metrics[$name]}")
  done
  command curl -sS --max-time 10 "${to[@]}" "$@"
}
# log NODE: prints the log of a node without timestamps.
log() { sed 's/^time=[^ ]* //' "$TMPDIR/$1.log"; }

# fit limits the output of a command to $lines lines of $width columns.
fit() {
  LC_ALL=C.UTF-8 sed -E "s/^(.{$((width - 1))}).{2,}/\1…/" |
    awk -v max="$lines" 'NR <= max; END { if (NR > max) print "… " NR - max " more lines" }'
}

explain() { printf '\n# %s\n' "$*"; }

show_output() {
  printf '$ %s\n' "$1"
  { eval "$1" 2>&1 || true; } | fit
}

wait_output() {
  local deadline=$((SECONDS + $1)) pattern=$2 command=$3 output
  while :; do
    output=$(eval "$command" 2>&1 || true)
    ! grep -Eq -- "$pattern" <<<"$output" || break
    if ((SECONDS >= deadline)); then
      printf '$ %s\n%s\n' "$command" "$output"
      printf 'unexpected: no match for /%s/ after %s s\n' "$pattern" "$1" >&2
      return 1
    fi
    sleep 0.3
  done
  printf '$ %s\n' "$command"
  fit <<<"$output"
}

# node NAME ROLES: starts a node and waits until it is ready. Operators' commands call the first node,
# which needs the role api.
node() {
  listen[$1]=$(free_port) metrics[$1]=$(free_port)
  STAMPEDE_LISTEN=127.0.0.1:${listen[$1]} STAMPEDE_METRICS_LISTEN=127.0.0.1:${metrics[$1]} STAMPEDE_ROLES=$2 \
    bin/stampede serve >>"$TMPDIR/$1.log" 2>&1 </dev/null &
  nodes[$1]=$!
  if ! wait_for 60 curl -f "http://$1:9090/readyz"; then
    tail -n 30 "$TMPDIR/$1.log" >&2
    return 1
  fi
  if [[ -z ${STAMPEDE_URL:-} ]]; then
    STAMPEDE_URL=http://127.0.0.1:${listen[$1]} STAMPEDE_TOKEN=$(bin/stampede token --user 1 --role admin --ttl 12h)
    export STAMPEDE_URL STAMPEDE_TOKEN
  fi
}

# signal NODE SIGNAL: sends a signal to a node; after TERM or KILL it waits until the node has ended.
signal() {
  kill "-$2" "${nodes[$1]}"
  case $2 in
  TERM | KILL)
    wait "${nodes[$1]}" 2>/dev/null || true
    unset "nodes[$1]"
    ;;
  esac
}

# store redis|mariadb SIGNAL: sends a signal to a private server.
store() { kill "-$2" "$(<"$TMPDIR/../$1.pid")"; }

# restart_redis starts the private Redis again with the files in its folder. services.sh also stops the new server.
restart_redis() {
  local dir
  dir=$(realpath "$TMPDIR/..")
  redis-server "$dir/redis.conf" --port "$redis_port" --dir "$dir/redis" \
    --proc-title-template '{title} {listen-addr} {config-file}' >>"$dir/redis.log" 2>&1 </dev/null &
  echo $! >"$dir/redis.pid"
  wait_for 30 redis-cli ping
}

# crowd NODE [RATE]: starts buyers on sockets of that node. They buy until end_crowd.
crowd() {
  bin/stampede load buy --target "127.0.0.1:${listen[$1]}" --sockets 40 --hot 2 --rate "${2:-40}" --for 10m --no-wait \
    >"$TMPDIR/load.log" 2>&1 &
  crowd_pid=$!
  others+=("$crowd_pid")
  wait_for 60 buying
}
buying() { (($(redis-cli --raw XLEN 'stampede:{0}:orders') > 20)); }

# end_crowd ends the crowd. Afterwards the crowd has no connection and no running op.
end_crowd() {
  [[ -n $crowd_pid ]] || return 0
  kill "$crowd_pid" 2>/dev/null || true
  wait "$crowd_pid" 2>/dev/null || true
  crowd_pid=
}

# waiting prints the number of reservations without a row; 0 also if Redis is unreachable.
waiting() {
  local p
  for p in 0 1; do redis-cli --raw XINFO GROUPS "stampede:{$p}:orders" | paste -sd' '; done |
    awk '{ for (i = 1; i < NF; i++) if ($i == "lag" || $i == "pending") n += $(i + 1) } END { print n + 0 }'
}
settled() { [[ $(waiting) == 0 ]]; }

# finish_drill ends every drill: the crowd stops, every reservation gets its row, and the audit passes.
finish_drill() {
  end_crowd
  explain 'No reservation is pending, and the audit passes.'
  wait_for 60 settled
  wait_output 30 '^[1-9][0-9]* sales audited, 0 failed$' 'stampede audit | tail -n 1'
}

mariadb -e 'CREATE DATABASE stampede'
bin/stampede migrate up >/dev/null
