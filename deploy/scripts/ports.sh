# Sourced, beside report.sh, by the scripts that start servers of their own.
# shellcheck shell=bash

# free_port prints a port below the range that the kernel hands out by itself, and that nobody listens on now.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 10000))
    (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  echo "$port"
}

# wait_for SECONDS CMD…: until it succeeds.
wait_for() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS >= deadline)); then
      echo "not within the time it may take: $*" >&2
      return 1
    fi
    sleep 0.2
  done
}
