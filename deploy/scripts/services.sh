#!/usr/bin/env bash
# Private Redis and MariaDB for tests and benchmarks, on free ports of 127.0.0.1, in a temporary folder.
#
#   services.sh run CMD…   starts both and runs CMD with STAMPEDE_TEST_REDIS and STAMPEDE_TEST_MYSQL set; always stops
#                          both when CMD ends, and exits with its status
#   services.sh start      starts both and prints the two exports: eval "$(services.sh start)"
#   services.sh stop       stops what start started
#
# STAMPEDE_TEST_STORES replaces the installed Redis, the installed MariaDB, or both: mysql9+redis8, mariadb11+valkey8,
# redis8 … deploy/scripts/stores.sh provides these programs. Servers that tests start are of the same kind. galera is
# the installed MariaDB as the first node of a Galera cluster; servers that tests start are then ordinary ones.
#
# STAMPEDE_TEST_BINLOG=1 gives MariaDB a binary log, which semi-synchronous replication needs.
#
# The script stops only processes that it started, by their process id.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=deploy/scripts/ports.sh
source "$root/deploy/scripts/ports.sh"
conf=$root/app/test/kit/conf
state=$root/.run/services # contains the folder of `start`
stores=${STAMPEDE_TEST_STORES:-}
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

say() { printf '%s\n' "$*" >&2; }

# launch NAME CMD…: starts a server in the background and stores its process id. The server leads its own process group,
# so that Ctrl-C on the terminal reaches it only through this script. Under `run` the kernel ends the server even if
# this script is killed before it can clean up.
launch() {
  local name=$1 tied=()
  shift
  if [[ $mode == run ]] && command -v setpriv >/dev/null; then
    tied=(setpriv --pdeathsig TERM)
  fi
  set -m
  "${tied[@]}" "$@" >"$dir/$name.log" 2>&1 </dev/null &
  set +m
  echo $! >"$dir/$name.pid"
}

# wait_for_server NAME CMD…: repeats CMD until it succeeds. If the server ends or takes 60 s, prints its log and fails.
wait_for_server() {
  local name=$1 deadline=$((SECONDS + 60))
  shift
  until "$@" >/dev/null 2>&1; do
    if ! kill -0 "$(<"$dir/$name.pid")" 2>/dev/null || ((SECONDS > deadline)); then
      say "$name did not start:"
      tail -n 40 "$dir/$name.log" >&2
      return 1
    fi
    sleep 0.05
  done
}

# choose sets the two server programs. It exports them for the tests if they are not the installed ones.
choose() {
  local name
  redis_server=redis-server mysql_server= galera=()
  for name in ${stores//+/ }; do
    case $name in
    galera) galera_settings || return ;;
    mariadb*) # the same programs in newer versions: PATH selects them here and in tests that start their own
      mysql_server=$("$root/deploy/scripts/stores.sh" program "$name") || return
      PATH=${mysql_server%/*}:$PATH mysql_server=
      echo "export PATH='$PATH'" >>"$dir/exports"
      ;;
    mysql*)
      mysql_server=$("$root/deploy/scripts/stores.sh" program "$name") || return
      echo "export STAMPEDE_TEST_MYSQL_SERVER='$mysql_server'" >>"$dir/exports"
      ;;
    *)
      redis_server=$("$root/deploy/scripts/stores.sh" program "$name") || return
      echo "export STAMPEDE_TEST_REDIS_SERVER='$redis_server'" >>"$dir/exports"
      ;;
    esac
  done
}

# galera_settings sets the arguments with which mariadbd bootstraps a cluster of one node. Statements are rejected until
# wsrep_ready is ON.
galera_settings() {
  local library port
  library=$(find /usr/lib* -name libgalera_smm.so -print -quit 2>/dev/null)
  [[ -n $library ]] || { say 'libgalera_smm.so is not installed (Debian: apt-get install galera-4)' && return 1; }
  port=$(free_port)
  galera=(--wsrep-new-cluster --wsrep-on=ON --wsrep-provider="$library" --wsrep-cluster-address=gcomm://
    --wsrep-cluster-name=stampede-tests --wsrep-node-address="127.0.0.1:$port"
    --wsrep-provider-options="gmcast.listen_addr=tcp://127.0.0.1:$port;gcache.size=32M" --binlog-format=ROW
    --innodb-autoinc-lock-mode=2)
}

start_redis() {
  local port
  port=$(free_port)
  mkdir -p "$dir/redis"
  cp "$conf/redis.conf" "$dir/redis.conf"
  # The title contains the path of the configuration file, by which stop_all recognises this process.
  launch redis "$redis_server" "$dir/redis.conf" --port "$port" --dir "$dir/redis" \
    --proc-title-template '{title} {listen-addr} {config-file}'
  wait_for_server redis redis-cli -p "$port" ping
  echo "export STAMPEDE_TEST_REDIS='redis://127.0.0.1:$port'" >>"$dir/exports"
}

start_mariadb() {
  local port as=() binlog=()
  port=$(free_port)
  ((EUID != 0)) || as=(--user=root)
  [[ -z ${STAMPEDE_TEST_BINLOG:-} ]] || binlog=(--log-bin=binlog)
  cp "$conf/my.cnf" "$dir/my.cnf"
  if ! mariadb-install-db --defaults-file="$dir/my.cnf" --datadir="$dir/mariadb" "${as[@]}" \
    --auth-root-authentication-method=normal --skip-test-db --skip-name-resolve >"$dir/install.log" 2>&1; then
    say 'mariadb-install-db failed:'
    cat "$dir/install.log" >&2
    return 1
  fi
  launch mariadb mariadbd --defaults-file="$dir/my.cnf" --datadir="$dir/mariadb" "${as[@]}" \
    --port="$port" --socket=mysqld.sock --pid-file=mysqld.pid "${galera[@]}" "${binlog[@]}"
  local address=(--no-defaults --protocol=tcp --host=127.0.0.1 --port="$port" --user=root)
  wait_for_server mariadb mariadb-admin "${address[@]}" ping
  ((!${#galera[@]})) || wait_for_server mariadb galera_is_ready "${address[@]}"
  echo "export STAMPEDE_TEST_MYSQL='root@tcp(127.0.0.1:$port)/'" >>"$dir/exports"
}

galera_is_ready() { mariadb "$@" --batch -e "SHOW GLOBAL STATUS LIKE 'wsrep_ready'" | grep -qw ON; }

# start_mysql is start_mariadb for MySQL. The initial root user may connect only from the name localhost, and host names
# are not resolved, so mysql-init.sql adds another root user.
start_mysql() {
  local port as=()
  port=$(free_port)
  ((EUID != 0)) || as=(--user=root)
  cp "$conf/my.cnf" "$conf/mysql-init.sql" "$dir"
  if ! "$mysql_server" --defaults-file="$dir/my.cnf" --initialize-insecure --datadir="$dir/mysql" "${as[@]}" \
    --init-file="$dir/mysql-init.sql" >"$dir/install.log" 2>&1; then
    say 'mysqld --initialize-insecure failed:'
    cat "$dir/install.log" >&2
    return 1
  fi
  launch mysql "$mysql_server" --defaults-file="$dir/my.cnf" --datadir="$dir/mysql" "${as[@]}" \
    --port="$port" --socket=mysqld.sock --pid-file=mysqld.pid
  wait_for_server mysql grep -q 'ready for connections.*port: [1-9]' "$dir/mysql.log"
  echo "export STAMPEDE_TEST_MYSQL='root@tcp(127.0.0.1:$port)/'" >>"$dir/exports"
}

start_all() {
  dir=$(mktemp -d "${TMPDIR:-/tmp}/stampede-services-XXXXXX")
  # At its start a server removes the temporary tables in this folder, also those of other servers if they share it.
  export TMPDIR=$dir/tmp
  mkdir "$TMPDIR"
  choose && start_redis || return
  if [[ -n $mysql_server ]]; then start_mysql; else start_mariadb; fi
}

# stop_all ends our servers and removes their folder. It ignores a process id that now belongs to another program.
stop_all() {
  [[ -n ${dir:-} && -d $dir ]] || return 0
  local name pid
  for name in redis mariadb mysql; do
    [[ -f $dir/$name.pid ]] || continue
    pid=$(<"$dir/$name.pid")
    [[ $(ps -o args= -p "$pid" 2>/dev/null) == *"$dir"* ]] || continue
    kill -TERM "$pid" 2>/dev/null || continue
    for _ in {1..200}; do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.05
    done
    kill -KILL "$pid" 2>/dev/null || true
  done
  rm -rf "$dir"
}

mode=${1:-}
case $mode in
run)
  shift
  (($#)) || { say 'usage: services.sh run CMD…'; exit 2; }
  trap stop_all EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  start_all
  # shellcheck disable=SC1091
  source "$dir/exports"
  # The command runs in its own process group. A signal to this script also ends the command at once.
  set -m
  "$@" <&0 &
  command=$!
  set +m
  trap 'kill -TERM -- "-$command" 2>/dev/null; wait "$command" || true; exit 130' INT
  trap 'kill -TERM -- "-$command" 2>/dev/null; wait "$command" || true; exit 143' TERM HUP
  status=0
  wait "$command" || status=$?
  exit "$status"
  ;;
start)
  if [[ -f $state && -f $(<"$state")/exports ]]; then
    say 'already running; stop them with services.sh stop'
  else
    trap stop_all EXIT
    start_all
    trap - EXIT
    mkdir -p "$(dirname "$state")"
    echo "$dir" >"$state"
    say "${stores:-Redis and MariaDB} run in $dir; stop them with services.sh stop"
  fi
  cat "$(<"$state")/exports"
  ;;
stop)
  [[ -f $state ]] || { say 'no private servers are running'; exit 0; }
  dir=$(<"$state")
  stop_all
  rm -f "$state"
  ;;
*)
  say 'usage: services.sh run CMD… | start | stop'
  exit 2
  ;;
esac
