#!/usr/bin/env bash
# Drills: the troubles of the runbook, made on private stores with the real program, seen with an operator's commands, mended as
# the runbook says, and audited. The last line is `N passed, N failed`.
#
#   run.sh             all of them
#   run.sh NAME…       some of them: the scripts beside this one
#   run.sh --write     all of them, and puts what they have shown into deploy/RUNBOOK.md
#   run.sh --render    puts what the last runs have shown there, and runs nothing
#
# What a drill shows is kept in .run/drills/NAME.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh
drills=deploy/drills kept=.run/drills runbook=deploy/RUNBOOK.md

# names: every drill, in the order of the runbook.
names() { sed -n 's/^<!-- drill \([a-z-]*\): begin.*/\1/p' "$runbook"; }

# render puts the transcript of every drill between the marks that the runbook has for it.
render() {
  local name page
  page=$(mktemp)
  for name in $(names); do
    [[ -s $kept/$name.txt ]] || { echo "$name was not run yet" >&2 && return 1; }
    {
      sed "/^<!-- drill $name: begin/q" "$runbook"
      printf '```console\n'
      sed '1{/^$/d}' "$kept/$name.txt"
      printf '```\n'
      sed -n "/^<!-- drill $name: end/,\$p" "$runbook"
    } >"$page"
    cat "$page" >"$runbook"
  done
  rm -f "$page"
}

# drill NAME: on stores of its own. Its transcript is kept only if it went as the runbook says.
drill() {
  local file=$kept/$1.txt
  rm -f "$file.new"
  DRILL_TRANSCRIPT=$PWD/$file.new timeout -k 10 300 deploy/scripts/services.sh run "$drills/$1.sh" && mv "$file.new" "$file"
}

write=0
case ${1:-} in
--render) render && exit ;;
--write) write=1 && shift ;;
-*) sed -n '5,8s/^# *//p' "$0" >&2 && exit 2 ;;
esac
if ((!$#)); then
  mapfile -t all < <(names)
  set -- "${all[@]}"
fi
for name in "$@"; do
  names | grep -qx "$name" && [[ -x $drills/$name.sh ]] || {
    echo "there is no drill $name; there are: $(names | paste -sd' ')" >&2
    exit 2
  }
done
mkdir -p "$kept"
check 'what they need' deploy/scripts/install.sh || { finish; exit 1; }
check 'the program' deploy/scripts/build.sh binary || { finish; exit 1; }
for name in "$@"; do
  check "$name" drill "$name" || true
done
((!write || failed)) || render
finish
