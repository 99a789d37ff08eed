#!/usr/bin/env bash
# Builds the shipped files. The binary contains the page, so the page is built first.
#
#   build.sh           packages, page and binary, in this order
#   build.sh packages  the npm packages of the page, if the lock file is newer than the installed packages
#   build.sh page      frontend/dist: the page, the console and the documentation of the API
#   build.sh binary    bin/stampede
#   build.sh background  compiles the dependencies of the binary that do not contain the page, while the page is built
set -euo pipefail
cd "$(dirname "$0")/../.."
# With more memory for garbage, compilers need a fifth less processor time.
export GOGC=400

# npm writes node_modules/.package-lock.json last. Only after a complete installation is it at least as new as the lock
# file.
packages() {
  if [[ ! -e frontend/node_modules/.package-lock.json ||
    frontend/package-lock.json -nt frontend/node_modules/.package-lock.json ]]; then
    echo 'installing the npm packages of the page'
    npm --prefix frontend ci --no-audit --no-fund --loglevel=error
  fi
}

# page does not check the types; lint.sh does.
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

# background excludes packages that contain the page or import one that does, because these change with the page.
background() {
  go list -e -deps -f '{{if not .Standard}}{{.ImportPath}}{{end}}' ./app/cmd/stampede |
    grep -vxE 'stampede/(frontend|app/server|app/cmd/stampede)' | CGO_ENABLED=0 xargs go build -trimpath
}

case ${1:-all} in
packages) packages ;;
page) page ;;
binary) binary ;;
background) background ;;
all) packages && page && binary ;;
*)
  echo 'usage: build.sh [packages|page|binary|background]' >&2
  exit 2
  ;;
esac
