#!/usr/bin/env bash
# Starts the trial of deploy/compose.yaml: makes its secrets and a certificate for localhost once, builds the image and
# waits until the shop is ready. Arguments go to `docker compose up`.
#
#   compose.sh               make missing secrets, build and start
#   compose.sh secrets       only make missing secrets
#
# Each secret is a file that only the user of its container can read: 65532 is the program, 999 a store, 0 nginx. Keep
# deploy/secrets: a new key ends all sessions, and the database keeps its first password.
set -euo pipefail
cd "$(dirname "$0")/../.."

as_root=(env)
((EUID == 0)) || as_root=(sudo)

# secret NAME OWNER: stores standard input.
secret() { "${as_root[@]}" install -m 0400 -o "$2" -g "$2" /dev/stdin "$folder/$1"; }

if [[ ! -e deploy/secrets ]]; then
  folder=deploy/secrets.new # complete, or not there
  "${as_root[@]}" rm -rf "$folder"
  mkdir -m 0700 "$folder"
  db=$(openssl rand -hex 24) redis=$(openssl rand -hex 24)
  openssl rand -base64 48 | secret jwt 65532
  printf 'stampede:%s@tcp(mariadb:3306)/stampede\n' "$db" | secret mysql 65532
  printf 'redis://:%s@redis:6379/0\n' "$redis" | secret redis_url 65532
  printf '%s' "$db" | secret db 999
  printf '%s' "$redis" | secret redis_password 999
  { sed '/^dir /d; /^bind /d' deploy/redis.conf && printf 'bind 0.0.0.0\nrequirepass %s\ndir /data\n' "$redis"; } |
    secret redis.conf 999
  made=$(mktemp -d)
  openssl req -x509 -newkey rsa:2048 -nodes -days 365 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
    -keyout "$made/privkey.pem" -out "$made/fullchain.pem" 2>/dev/null
  "${as_root[@]}" install -d -m 0700 -o 0 -g 0 "$folder/tls"
  for name in fullchain privkey; do "${as_root[@]}" install -m 0400 -o 0 -g 0 "$made/$name.pem" "$folder/tls/"; done
  rm -r "$made"
  mv "$folder" deploy/secrets
fi
[[ ${1:-} != secrets ]] || exit 0

VERSION=$(git describe --tags --always 2>/dev/null || echo unknown)
export VERSION
docker compose -f deploy/compose.yaml up --build --detach --wait "$@"
echo 'The shop: https://localhost:8443 (the browser warns about its certificate). See deploy/compose.yaml for the console.'
