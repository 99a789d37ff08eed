#!/usr/bin/env bash
# Formats Go with gofumpt and the page with its own formatter.
set -euo pipefail
cd "$(dirname "$0")/../.."
deploy/scripts/tools.sh
git ls-files --cached --others --exclude-standard -- '*.go' |
  while IFS= read -r file; do [[ ! -e $file ]] || printf '%s\n' "$file"; done |
  xargs -d '\n' .run/tools/gofumpt -w -modpath stampede -lang go1.26
deploy/scripts/build.sh packages
npm --prefix frontend run --silent fmt
