#!/usr/bin/env bash
# What ships for running Stampede, judged by the programs that will read it. The last line is `N passed, N failed`.
#
#   deploycheck.sh           everything
#   deploycheck.sh units     the systemd units alone, as systemd reads them: a part of lint
#   deploycheck.sh files     the units, the manifests of Kubernetes and the compose file; nothing of it runs
#   deploycheck.sh sockets   10,000 sockets through the nginx that ships, in front of two nodes, for a minute
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh

# The units as systemd reads them, with a program that is there.
read_units() {
  local folder
  folder=$(mktemp -d)
  sed 's|^ExecStart=/usr/local/bin/stampede |ExecStart=/bin/true |' deploy/stampede.service >"$folder/stampede.service"
  for role in api worker sweeper; do
    sed 's|^ExecStart=/usr/local/bin/stampede |ExecStart=/bin/true |' deploy/stampede@.service >"$folder/stampede@$role.service"
  done
  local said
  said=$(systemd-analyze verify --man=no "$folder"/*.service 2>&1) && [[ -z $said ]]
  local status=$?
  rm -rf "$folder"
  echo "$said"
  return "$status"
}

# hardened UNIT: systemd's own score of how exposed a service is, 0 to 10, times ten. What is left: it talks to the
# internet, to addresses that only who runs it knows, and has the host's folders before it, read-only.
hardened() { systemd-analyze security --offline=true --threshold=15 "$1"; }

units() {
  local unit
  check 'systemd reads the units' read_units || true
  for unit in deploy/stampede.service deploy/stampede@.service; do
    check "$(basename "$unit") is exposed by 1.5 of 10 at most" hardened "$unit" || true
  done
}

# tools: kustomize and our own check in the versions of deploy/tools/deploycheck, and the schemas of Kubernetes from npm.
folder=$PWD/.run/deploycheck
tools() {
  mkdir -p "$folder"
  cp deploy/tools/deploycheck/{package.json,package-lock.json,kubernetes.mjs} "$folder"
  (cd deploy/tools/deploycheck && CGO_ENABLED=0 go build -trimpath -o "$folder/" . sigs.k8s.io/kustomize/kustomize/v5) &&
    npm --prefix "$folder" ci --no-audit --no-fund
}

# kubernetes FOLDER: what kustomize makes of it, against the schemas, and against the types, which know no other fields.
kubernetes() {
  local made
  made=$(mktemp)
  "$folder/kustomize" build "$1" >"$made" && node "$folder/kubernetes.mjs" <"$made" && "$folder/deploycheck" kubernetes <"$made"
  local status=$?
  rm -f "$made"
  return "$status"
}

# slip: what has a field of a wrong name, or a value of a wrong kind, is found.
slip() {
  local made
  made=$("$folder/kustomize" build deploy/kubernetes/overlays/production) || return 1
  if "$folder/deploycheck" kubernetes <<<"${made//readinessProbe/readynessProbe}"; then return 1; fi
  if node "$folder/kubernetes.mjs" <<<"${made//minReplicas: 2/minReplicas: two}"; then return 1; fi
  sed 's/stop_grace_period/stop_grace_time/' deploy/compose.yaml >"$folder/slip.yaml"
  if "$folder/deploycheck" compose "$folder/slip.yaml"; then return 1; fi
}

files() {
  units
  check 'kustomize, check and schemas' tools || return 0
  for made in overlays/production overlays/kind migrate; do
    check "deploy/kubernetes/$made" kubernetes "deploy/kubernetes/$made" || true
  done
  check 'deploy/compose.yaml, as compose reads it' "$folder/deploycheck" compose deploy/compose.yaml || true
  check 'slips of the pen are found' slip || true
}

# sockets_held needs Redis, MariaDB and nginx (install.sh), 20,000 files for a process and two cores for two minutes.
sockets_held() {
  deploy/scripts/install.sh && deploy/scripts/services.sh run deploy/scripts/go-test.sh --log sockets \
    -tags soak -run '^TestTenThousandSocketsThroughNginx$' ./app/test/e2e
}

sockets() { suite '10,000 sockets through nginx' sockets_held || true; }

case ${1:-all} in
units) units ;;
files) files ;;
sockets) sockets ;;
all)
  files
  sockets
  ;;
*)
  echo 'usage: deploycheck.sh [units|files|sockets]' >&2
  exit 2
  ;;
esac
finish
