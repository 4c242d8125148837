#!/usr/bin/env bash
# Build MinIO, the S3 server that judges races, unless it is built; about ten minutes, once.
#
#   tests/minio.sh            needs Go 1.24 or newer; without it says so and fails
set -euo pipefail

version=v0.0.0-20260212201848-7aac2a2c5b7c
target="${XDG_CACHE_HOME:-$HOME/.cache}/airflow-provider-paimon/minio"
[ -x "$target" ] && exit 0
if ! command -v go >/dev/null 2>&1; then
  echo "minio: Go is needed to build it: https://go.dev/dl, or give a server in S3_ENDPOINT" >&2
  exit 1
fi
echo "minio: building $version; this takes about ten minutes ..." >&2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
GOBIN="$folder" CGO_ENABLED=0 nice go install -ldflags='-s -w' "github.com/minio/minio@$version"
mkdir -p "$(dirname "$target")"
mv "$folder/minio" "$target.$$"
mv "$target.$$" "$target"
