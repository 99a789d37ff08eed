#!/usr/bin/env bash
# Adds the digest to each image in deploy/compose.yaml and deploy/Dockerfile, so that a build always uses the same
# images: name:tag becomes name:tag@sha256:…. It needs docker with buildx, and a network that reaches the registries.
# Run it after a change of a tag; remove the digest before that.
set -euo pipefail
cd "$(dirname "$0")/../.."
files=(deploy/compose.yaml deploy/Dockerfile)

for image in $(sed -nE 's/^ *image: ([^ @]+:[^ @]+)$/\1/p; s/^FROM ([^ @]+:[^ @]+)( AS .*)?$/\1/p' "${files[@]}" | sort -u); do
  digest=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$image")
  [[ $digest == sha256:* ]] || { echo "$image has no digest: $digest" >&2 && exit 1; }
  sed -i -E "s|^( *image: ${image//./\\.})\$|\1@$digest|; s|^(FROM ${image//./\\.})( AS .*)?\$|\1@$digest\2|" "${files[@]}"
  echo "$image@$digest"
done
