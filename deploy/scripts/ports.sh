# Sourced by the scripts that start their own servers.
# shellcheck shell=bash

# free_port prints a port without a listener, below the range of ports that the kernel assigns.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 10000))
    (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  echo "$port"
}

# wait_for SECONDS CMD…: repeats the command until it succeeds; fails after this time.
wait_for() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS >= deadline)); then
      echo "no success within the time limit: $*" >&2
      return 1
    fi
    sleep 0.2
  done
}
