#!/usr/bin/env bash
# Runs Go tests and gives a strict verdict on them (deploy/tools/verdict).
#
#   go-test.sh [FLAG…] PACKAGE…     flags as of `go test`
#
# Results are never taken from the cache: the stores behind the tests may have changed.
set -euo pipefail
cd "$(dirname "$0")/../.."
deploy/scripts/tools.sh
# -trimpath as everywhere: what has been compiled in one form is not compiled in another.
go test -trimpath -json -count=1 -timeout 10m "$@" 2>&1 | .run/tools/verdict
