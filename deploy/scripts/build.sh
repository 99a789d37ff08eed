#!/usr/bin/env bash
# Builds what is shipped. The binary contains the page, so the page comes first.
#
#   build.sh           all three in their order
#   build.sh packages  the page's npm packages, if the lock file is newer than what is installed
#   build.sh page      frontend/dist
#   build.sh binary    bin/stampede
#   build.sh beside    compiles what the binary is made of but for the page, while that is made
set -euo pipefail
cd "$(dirname "$0")/../.."
# A compiler makes much and drops little of it: with more memory, a fifth less of the processors.
export GOGC=400

# npm writes node_modules/.package-lock.json as its last act, so it is no older than the lock file
# after a complete installation only.
packages() {
  if [[ ! -e frontend/node_modules/.package-lock.json ||
    frontend/package-lock.json -nt frontend/node_modules/.package-lock.json ]]; then
    echo 'installing the npm packages of the page'
    npm --prefix frontend ci --no-audit --no-fund --loglevel=error
  fi
}

# What its types promise is looked at by lint.sh.
page() {
  echo 'building the page'
  npm --prefix frontend run --silent build
}

# Without cgo the binary runs on any Linux of its architecture, also in an empty container.
binary() {
  local version
  version=$(git describe --tags --always --dirty 2>/dev/null || echo unknown)
  echo "building bin/stampede, version $version"
  CGO_ENABLED=0 go build -trimpath -ldflags "-X main.version=$version" -o bin/stampede ./app/cmd/stampede
}

# What contains the page, or imports what does, is compiled anew when that changes.
beside() {
  go list -e -deps -f '{{if not .Standard}}{{.ImportPath}}{{end}}' ./app/cmd/stampede |
    grep -vxE 'stampede/(frontend|app/server|app/cmd/stampede)' | CGO_ENABLED=0 xargs go build -trimpath
}

case ${1:-all} in
packages) packages ;;
page) page ;;
binary) binary ;;
beside) beside ;;
all) packages && page && binary ;;
*)
  echo 'usage: build.sh [packages|page|binary|beside]' >&2
  exit 2
  ;;
esac
