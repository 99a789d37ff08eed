#!/usr/bin/env bash
# Brings a shop of the release before to this version while people buy, and back, and forward again: the schema first, then
# node by node (app/test/crash/upgrade_test.go). deploy/RELEASE names the revision of that release; it is built from this
# repository's history. The last line is `N passed, N failed`.
#
#   upgrade.sh [FLAG…]    flags as of `go test`, e.g. -seed N as in the run that printed that seed
#   upgrade.sh --build    only builds that program, and prints where it is
set -euo pipefail
cd "$(dirname "$0")/../.."

revision=$(<deploy/RELEASE)
if ! git cat-file -e "$revision^{commit}" 2>/dev/null; then
  printf 'upgrade.sh: deploy/RELEASE names %s, which is not in this clone: %s\n' "$revision" \
    'git fetch --unshallow, or clone without --depth' >&2
  exit 1
fi
folder=$PWD/.run/upgrade/$revision
if [[ ! -x $folder/stampede ]]; then
  source=$(mktemp -d "${TMPDIR:-/tmp}/stampede-upgrade-XXXXXX")
  trap 'rm -rf "$source"' EXIT
  git archive "$revision" | tar -x -C "$source"
  mkdir -p "$folder"
  (cd "$source" && CGO_ENABLED=0 go build -buildvcs=false -trimpath -o "$folder/stampede" ./app/cmd/stampede)
fi
if [[ ${1:-} == --build ]]; then
  echo "$folder/stampede"
  exit
fi
deploy/scripts/services.sh run deploy/scripts/go-test.sh -tags crashpoints,upgrade ./app/test/crash \
  -run '^TestUpgrade$' -before "$folder/stampede" "$@"
cat .run/crash/report.txt
