#!/usr/bin/env bash
# Drills: each script of this folder causes a problem on private stores with the real program, observes it with
# operators' commands, applies the remedy of deploy/RUNBOOK.md and runs the audit. Prints transcripts; the last line is
# `N passed, N failed`.
#
#   run.sh             all drills
#   run.sh NAME…       some drills: the names of the scripts
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh
drills=deploy/drills
declare -A limits=([restore-backup]=1500) # seconds; default: 300

# names: prints the names of all drills.
names() { (cd "$drills" && printf '%s\n' *.sh) | sed 's/\.sh$//' | grep -vxE 'run|common'; }

if ((!$#)); then
  mapfile -t all < <(names)
  set -- "${all[@]}"
fi
for name in "$@"; do
  names | grep -qxF -e "$name" || {
    echo "unknown drill $name; use one of: $(names | paste -sd' ')" >&2
    exit 2
  }
done
check 'tools and servers' deploy/scripts/install.sh || { finish; exit 1; }
check 'the program' deploy/scripts/build.sh binary || { finish; exit 1; }
for name in "$@"; do
  step "$name"
  if timeout -k 10 "${limits[$name]:-300}" deploy/scripts/services.sh run "$drills/$name.sh" 2>&1 </dev/null; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL  $name"
  fi
done
finish
