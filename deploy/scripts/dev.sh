#!/usr/bin/env bash
# Runs the demo on 127.0.0.1:8080 and Vite's server with hot reload in front of it, to work on the page.
set -euo pipefail
cd "$(dirname "$0")/../.."
deploy/scripts/build.sh packages
deploy/scripts/build.sh binary
bin/stampede demo --listen 127.0.0.1:8080 --data .run/dev &
demo=$!
trap 'kill -TERM "$demo" 2>/dev/null || true; wait "$demo" 2>/dev/null || true' EXIT
npm --prefix frontend run dev
