#!/usr/bin/env bash
# Black-box tests of the built program (STAMPEDE_BIN) on the stores of services.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
export STAMPEDE_BIN=${STAMPEDE_BIN:-$PWD/bin/stampede}
exec deploy/scripts/go-test.sh ./app/e2e/...
