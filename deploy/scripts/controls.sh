#!/usr/bin/env bash
# Negative controls: proof that the tests can fail. Each file of deploy/controls puts one defect into the program: an
# *.edit by lines that it names (deploy/tools/mutate), a *.patch where that does not say it. Its header says which
# promises the defect breaks and which test must notice:
#
#   Defect: units are returned twice
#   Breaks: P1 I3
#   Test: ./streams TestReturnOnce          package and test (a pattern of `go test -run`)
#   Race: yes                               only when the race detector is what notices
#
#   controls.sh [PATTERN…]   the controls whose file name contains a PATTERN (all)
#   controls.sh --short      a quarter of them, which one the commit decides; of the others only that they apply,
#                            what they touch compiles, and their test is there
#   controls.sh --table      the headers as a Markdown table
#   controls.sh --write      puts that table, and the outcome of the last run of all, into deploy/SAFETY.md
#
# A control passes when it applies to the commit at hand and compiles, the named test succeeds without it, and
# fails with it. It runs in a temporary work tree: what is not committed has no part in it, and is not touched. The
# last line is `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/../.."
controls=deploy/controls
safety=deploy/SAFETY.md
last=.run/controls # the outcome of the last run of all

# header FILE NAME: the value of a line of the header, empty if there is none.
header() { sed -n "/^$/q; s/^$2: //p" "$1"; }

# controls_in FOLDER: all of them, by name.
controls_in() { find "$1" -name '*.patch' -o -name '*.edit' | sort; }

table() {
  local file package test
  echo '| the defect | breaks | caught by |'
  echo '|---|---|---|'
  for file in $(controls_in "$controls"); do
    read -r package test <<<"$(header "$file" Test)"
    printf '| [%s](controls/%s) | %s | `%s` in %s |\n' "$(header "$file" Defect)" "${file##*/}" \
      "$(header "$file" Breaks)" "$test" "${package#./}"
  done
}

write() {
  local kept
  kept=$(mktemp)
  {
    sed '/<!-- controls: begin/q' "$safety"
    table
    echo
    if [[ -e $last ]]; then cat "$last"; else grep '^The last run of all' "$safety"; fi
    sed -n '/<!-- controls: end/,$p' "$safety"
  } >"$kept"
  cat "$kept" >"$safety"
  rm -f "$kept"
}

turns=1         # among how many runs the controls are divided
patterns=("$@") # of file names; none: all
case ${1:-} in
--table) table; exit ;;
--write) write; exit ;;
--short) turns=4 patterns=() ;;
-*) echo 'usage: controls.sh [PATTERN…] | --short | --table | --write' >&2 && exit 2 ;;
esac
if [[ -z ${STAMPEDE_TEST_REDIS:-} ]]; then
  exec deploy/scripts/services.sh run "$0" "$@"
fi
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh

deploy/scripts/tools.sh
tree=$(mktemp -d "${TMPDIR:-/tmp}/stampede-controls-XXXXXX")
root=$PWD
finish() {
  git -C "$root" worktree remove --force "$tree/tree" || true
  rm -rf "$tree"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
git worktree add --quiet --detach "$tree/tree"
cd "$tree/tree"

# apply FILE: puts the defect in; undo takes it out again.
apply() {
  case $1 in
  *.edit) "$root/.run/tools/mutate" "$1" ;;
  *) git apply --recount -C1 "$1" ;;
  esac
}
undo() { git checkout --quiet -- .; }

# build FILE BINARY: the packages that it touches, and the package of the control's test as a binary. What else depends on
# them is left alone: a defect changes what is done, not what is declared. Built like the program that ships, so that
# the cache has what the patch does not touch.
build() {
  local package flags=() cgo=0
  read -r package _ <<<"$(header "$1" Test)"
  [[ $(header "$1" Race) != yes ]] || flags=(-race) cgo=1
  compile "$1" && CGO_ENABLED=$cgo go test -trimpath -c "${flags[@]}" -o "$2" "$package"
}

# try FILE BINARY: runs the control's test. Status 0: it passed; 1: it failed; 2: no such test was run, or it broke off
# without a verdict.
try() {
  local package test output status=0
  read -r package test <<<"$(header "$1" Test)"
  output=$(cd "$package" && "$2" -test.run="^($test)\$" -test.v -test.timeout=5m 2>&1) || status=1
  printf '%s\n' "$output"
  case $status in
  0) grep -q '^--- PASS' <<<"$output" || status=2 ;;
  1) grep -qE '^--- FAIL|^WARNING: DATA RACE' <<<"$output" || status=2 ;; # after a race the process may not live to say so
  esac
  return "$status"
}

# sound FILE: the named test passes without the defect. A package is built once for this, a test asked once.
declare -A asked
sound() {
  local key binary
  key=$(header "$1" Test)$(header "$1" Race)
  if [[ -z ${asked[$key]:-} ]]; then
    read -r binary _ <<<"$key"
    binary=$tree/sound-${binary//\//-}$(header "$1" Race)
    asked[$key]=no
    { [[ -e $binary ]] || build "$1" "$binary"; } && try "$1" "$binary" && asked[$key]=yes
  fi
  [[ ${asked[$key]} == yes ]]
}

# reject LINE LOG: one failure, with the end of what was said.
reject() {
  failed=$((failed + 1))
  printf 'FAIL  %s\n' "$1"
  tail -n 40 "$2" | sed 's/^/      /'
}

# examine FILE: sees the named test pass without the defect and fail with it.
examine() {
  local file=$1 line log=$tree/log began=$SECONDS status=2
  line="$(header "$file" Defect) → $(header "$file" Test)"
  if ! sound "$file" >"$log" 2>&1; then
    reject "$line: the test does not pass without the defect" "$log"
  elif ! apply "$file" >"$log" 2>&1; then
    reject "$line: it does not apply" "$log"
  else
    if build "$file" "$tree/defect" >"$log" 2>&1; then
      status=0
      try "$file" "$tree/defect" >"$log" 2>&1 || status=$?
    fi
    case $status in
    0) reject "$line: NOT CAUGHT" "$log" ;;
    1)
      passed=$((passed + 1))
      printf 'ok    %s: caught (%d s)\n' "$line" $((SECONDS - began))
      ;;
    *) reject "$line: does not build, or ends without a verdict" "$log" ;;
    esac
    undo
  fi
}

# compile FILE: the Go packages that it touches, without what depends on them; nothing if it touches only Lua.
compile() {
  local packages
  mapfile -t packages < <(sed -n -e 's|^+++ b/\(.*\)/[^/]*\.go$|./\1|p' -e 's|^File: \(.*\)/[^/]*\.go$|./\1|p' "$1" | sort -u)
  ((!${#packages[@]})) || CGO_ENABLED=0 go build -trimpath "${packages[@]}"
}

# glance FILE: it applies and compiles, and its test is there.
glance() {
  local file=$1 line log=$tree/log package test
  read -r package test <<<"$(header "$file" Test)"
  line="$(header "$file" Defect) → $package $test"
  if ! apply "$file" >"$log" 2>&1; then
    reject "$line: it does not apply" "$log"
    return
  fi
  if ! compile "$file" >"$log" 2>&1; then
    reject "$line: does not compile" "$log"
  elif ! grep -qhE "^func ($test)\(t \*testing\.T\)" "$package"/*_test.go 2>"$log"; then
    reject "$line: there is no such test" "$log"
  else
    passed=$((passed + 1))
  fi
  undo
}

wanted() {
  local pattern
  ((${#patterns[@]})) || return 0
  for pattern in "${patterns[@]}"; do
    [[ $1 != *"$pattern"* ]] || return 0
  done
  return 1
}

commit=$(git rev-parse HEAD)
turn=$((16#${commit:0:7} % turns)) number=0
for file in $(controls_in "$root/$controls"); do
  wanted "${file##*/}" || continue
  if ((number++ % turns == turn)); then
    examine "$file"
  else
    glance "$file"
  fi
done
if ((turns == 1 && !${#patterns[@]})); then
  mkdir -p "$root/${last%/*}"
  printf 'The last run of all, on %s at commit %s: %d passed, %d failed, %d s.\n' \
    "$(date -u +%F)" "${commit:0:7}" "$passed" "$failed" "$SECONDS" >"$root/$last"
fi
if ((turns > 1)); then
  printf 'turn %d of %d: the others apply, compile, and have their test\n' $((turn + 1)) "$turns"
fi
conclude
