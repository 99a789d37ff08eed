#!/usr/bin/env bash
# Reports known vulnerabilities in the code that the program calls: govulncheck with the Go vulnerability database,
# which the module proxy serves as a module of OSV files. An unreachable source is a failure. The last line is
# `N passed, N failed`.
#
# The npm registry supports no audits: SECURITY.md lists the packages that run in the browser.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh

tool=$PWD/.run/tools/govulncheck

build() { mkdir -p .run/tools && CGO_ENABLED=0 go -C deploy/tools build -trimpath -o "$tool" golang.org/x/vuln/cmd/govulncheck; }

# database prints the folder of the newest vulnerability database.
database() {
  local module
  module=$(go mod download -json golang.org/x/vulndb@latest | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  ls "$module"/data/osv/GO-*.json >/dev/null && echo "$module/data/osv"
}

# recent FOLDER: prints the age of the database, whose version contains its day. A proxy may serve an old one: above 30
# days it is a warning, above 90 a failure.
recent() {
  local day age
  day=$(sed -E 's/.*vulndb@v[^-]*-([0-9.]*\.)?([0-9]{8})[0-9]{6}-.*/\2/' <<<"$1")
  age=$((($(date +%s) - $(date -d "$day" +%s)) / 86400))
  echo "      the database is of $day, $age days old" >&3
  ((age <= 30)) || echo '      warning: it lacks the defects that were found since' >&3
  ((age <= 90))
}

scan() { "$tool" -db "file://$1" ./...; }

check 'govulncheck builds' build || { finish; exit 1; }
osv=$(database) || osv=
check 'the vulnerability database is reached' test -n "$osv" || { finish; exit 1; }
echo "      $osv"
check 'the database is at most 90 days old' recent "$osv" 3>&1 || true
check "nothing that the program calls has a known vulnerability" scan "$osv" || true
finish
