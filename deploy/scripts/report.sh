# Sourced by the scripts that check something. They share one contract: the last line is `N passed, N failed`, and the
# exit status is 0 only if at least one check passed and none failed.
# shellcheck shell=bash

passed=0
failed=0

# use_memory moves temporary folders, and so the data of private stores, to memory if /dev/shm has 4 GiB free. The
# stores keep their durable settings: synced data survives a killed process in memory, too. No test cuts the power.
use_memory() {
  local options free
  options=$(findmnt -no OPTIONS /dev/shm 2>/dev/null) || return 0
  free=$(df --output=avail -k /dev/shm | tail -n 1)
  [[ $options == *noexec* ]] || ((free < 4 << 20)) || export TMPDIR=/dev/shm
}

# step TITLE: prints a heading.
step() {
  printf '\n== %s\n' "$1"
}

# check NAME CMD…: runs one check in a subshell. Prints one line, and the complete output of a failed command. Bash
# ignores `set -e` in this subshell, so functions must return early with && or return.
check() {
  local name=$1 began=$SECONDS output
  shift
  output=$(mktemp)
  if ("$@") >"$output" 2>&1 </dev/null; then
    passed=$((passed + 1))
    printf 'ok    %s (%d s)\n' "$name" $((SECONDS - began))
    rm -f "$output"
    return 0
  fi
  failed=$((failed + 1))
  printf 'FAIL  %s (%d s)\n' "$name" $((SECONDS - began))
  sed 's/^/      /' "$output"
  rm -f "$output"
  return 1
}

# suite NAME CMD…: runs a command that follows the contract itself. Shows its output while it runs and adds its counts.
# A command adds one failure if it prints no counts, or if its status is not 0 without a failed test.
suite() {
  local name=$1 began=$SECONDS output status=0 line
  shift
  step "$name"
  output=$(mktemp)
  "$@" 2>&1 </dev/null | tee "$output" || status=$?
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$output" | tail -n 1 || true)
  rm -f "$output"
  if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    local p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]}
    passed=$((passed + p))
    failed=$((failed + f))
    if ((f == 0 && (status != 0 || p == 0))); then
      failed=$((failed + 1))
      printf 'FAIL  %s: exit status %d, %d passed\n' "$name" "$status" "$p"
      return 1
    fi
    printf '(%d s)\n' $((SECONDS - began))
    return $((f > 0))
  fi
  failed=$((failed + 1))
  printf 'FAIL  %s: no counts, exit status %d\n' "$name" "$status"
  return 1
}

# begin CMD…: starts a background command and sets begun to its handle.
# end HANDLE check|suite NAME: waits for the command and reports it under this name. At its exit the script kills the
# remaining background commands with all their children.
declare -A under_way=() # by process group; a group that was waited for is removed, because its number may be reused
begin() {
  begun=$(mktemp -d)
  set -m
  "$@" >"$begun/output" 2>&1 </dev/null &
  set +m
  echo $! >"$begun/pid"
  under_way[$!]=1
  trap 'for group in "${!under_way[@]}"; do kill -- "-$group" 2>/dev/null || true; done' EXIT
}

# low_priority precedes commands that only compute. Such a command yields the processors to every other process until
# `end` raises its priority. Without the raise it would never finish on a busy machine.
low_priority=(chrt --idle 0)
chrt --idle 0 true 2>/dev/null || low_priority=()

# raise PID: gives a process and its descendants the normal priority.
raise() {
  local child
  chrt --other --pid 0 "$1" 2>/dev/null || true
  for child in $(pgrep -P "$1"); do raise "$child"; done
}

end() {
  local folder=$1 judge=$2 name=$3 pid status=0
  pid=$(<"$folder/pid")
  raise "$pid"
  wait "$pid" || status=$?
  unset "under_way[$pid]"
  "$judge" "$name" replay "$folder" "$status"
}

replay() {
  cat "$1/output"
  rm -rf "$1"
  return "$2"
}

# finish prints the last line. Its exit status is the status of the whole script.
finish() {
  if ((passed + failed == 0)); then
    failed=1
    echo 'FAIL  no check ran'
  fi
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0))
}
