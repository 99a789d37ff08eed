#!/usr/bin/env bash
# Measures what RESULTS.md says, on private stores with full durability: everything beside its simple way, in turns, in five
# rounds. The flags are those of deploy/bench: --rounds N, --scale X to try it out, --render to make the table again.
set -euo pipefail
cd "$(dirname "$0")/../.."

for flag in "$@"; do
  if [[ $flag == --render || $flag == -render ]]; then
    exec go run ./deploy/bench "$@"
  fi
done

bin=$(mktemp -d "${TMPDIR:-/tmp}/stampede-bench-XXXXXX")
trap 'rm -rf "$bin"' EXIT
echo 'building what is measured' >&2
CGO_ENABLED=0 go build -trimpath -o "$bin/stampede" ./app/cmd/stampede
CGO_ENABLED=0 go build -trimpath -tags bench -o "$bin/stampede-bench" ./app/cmd/stampede
go test -c -o "$bin/" ./streams ./app/store ./realtime
go build -o "$bin/bench" ./deploy/bench
deploy/scripts/services.sh run "$bin/bench" -bin "$bin" "$@"
