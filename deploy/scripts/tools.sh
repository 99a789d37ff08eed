#!/usr/bin/env bash
# Builds the developers' tools into .run/tools: staticcheck, gofumpt and gotestsum in the versions of
# deploy/tools/go.mod, and layers, mutate, shape, vet and words of this project. Without changes, this takes no time.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$root/.run/tools"
cd "$root/deploy/tools"
# These are the flags of build.sh, so that the standard library is compiled once for all of them.
GOGC=400 CGO_ENABLED=0 go build -trimpath -o "$root/.run/tools/" ./layers ./mutate ./shape ./vet ./words \
  honnef.co/go/tools/cmd/staticcheck mvdan.cc/gofumpt gotest.tools/gotestsum
