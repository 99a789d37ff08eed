#!/usr/bin/env bash
# Checks the deployment files with the programs that read them. The last line is `N passed, N failed`.
#
#   deploycheck.sh           everything
#   deploycheck.sh units     only the systemd units, with systemd itself: a part of lint
#   deploycheck.sh files     the units, the Kubernetes manifests and the compose file; starts nothing
#   deploycheck.sh sockets   holds 10,000 sockets for a minute through the shipped nginx.conf in front of two nodes
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh

# read_units verifies the units with systemd. It replaces ExecStart by a program that exists.
read_units() {
  local folder
  folder=$(mktemp -d)
  sed 's|^ExecStart=/usr/local/bin/stampede |ExecStart=/bin/true |' deploy/stampede.service >"$folder/stampede.service"
  for role in api worker sweeper; do
    sed 's|^ExecStart=/usr/local/bin/stampede |ExecStart=/bin/true |' deploy/stampede@.service >"$folder/stampede@$role.service"
  done
  local output
  output=$(systemd-analyze verify --man=no "$folder"/*.service 2>&1) && [[ -z $output ]]
  local status=$?
  rm -rf "$folder"
  echo "$output"
  return "$status"
}

# hardened UNIT: limits systemd's exposure score of a service (0 to 10); the threshold is the score times ten. The
# remaining exposure is accepted: the service reaches the internet, addresses that only the operator can list, and the
# host's folders read-only.
hardened() { systemd-analyze security --offline=true --threshold=15 "$1"; }

units() {
  local unit
  check 'systemd reads the units' read_units || true
  for unit in deploy/stampede.service deploy/stampede@.service; do
    check "$(basename "$unit") has an exposure of at most 1.5 of 10" hardened "$unit" || true
  done
}

# tools builds kustomize and our own check in the versions of deploy/tools/deploycheck, and installs the Kubernetes
# schemas from npm.
folder=$PWD/.run/deploycheck
tools() {
  mkdir -p "$folder"
  cp deploy/tools/deploycheck/{package.json,package-lock.json,kubernetes.mjs} "$folder"
  (cd deploy/tools/deploycheck && CGO_ENABLED=0 go build -trimpath -o "$folder/" . sigs.k8s.io/kustomize/kustomize/v5) &&
    npm --prefix "$folder" ci --no-audit --no-fund
}

# kubernetes FOLDER: checks the output of kustomize against the schemas, and against the Go types, which reject unknown
# fields.
kubernetes() {
  local made
  made=$(mktemp)
  "$folder/kustomize" build "$1" >"$made" && node "$folder/kubernetes.mjs" <"$made" && "$folder/deploycheck" kubernetes <"$made"
  local status=$?
  rm -f "$made"
  return "$status"
}

# finds_typos checks that the checks find a misspelt field and a value of a wrong type.
finds_typos() {
  local made
  made=$("$folder/kustomize" build deploy/kubernetes/overlays/production) || return 1
  if "$folder/deploycheck" kubernetes <<<"${made//readinessProbe/readynessProbe}"; then return 1; fi
  if node "$folder/kubernetes.mjs" <<<"${made//minReplicas: 2/minReplicas: two}"; then return 1; fi
  sed 's/stop_grace_period/stop_grace_time/' deploy/compose.yaml >"$folder/typo.yaml"
  if "$folder/deploycheck" compose "$folder/typo.yaml"; then return 1; fi
}

files() {
  units
  check 'kustomize, check and schemas' tools || return 0
  for made in overlays/production overlays/kind migrate; do
    check "deploy/kubernetes/$made" kubernetes "deploy/kubernetes/$made" || true
  done
  check 'deploy/compose.yaml' "$folder/deploycheck" compose deploy/compose.yaml || true
  check 'misspelt fields and wrong types are found' finds_typos || true
}

# sockets_held needs Redis, MariaDB and nginx (install.sh), 20,000 descriptors per process, and two cores for two
# minutes.
sockets_held() {
  deploy/scripts/install.sh && deploy/scripts/services.sh run deploy/scripts/go-test.sh --log sockets \
    -tags soak -run '^TestNginxKeepsTenThousandSocketsOpen$' ./app/test/e2e
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
