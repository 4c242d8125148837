#!/usr/bin/env bash
# See to it that MariaDB and PostgreSQL are here; installs them on Debian as root.
set -euo pipefail
complete() { command -v mariadbd >/dev/null 2>&1 && [ -x /usr/lib/postgresql/15/bin/initdb ]; }
complete && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "servers: MariaDB and PostgreSQL 15 are needed; on Debian: sudo apt-get install mariadb-server postgresql" >&2
  exit 1
fi
echo "servers: installing MariaDB and PostgreSQL ..." >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >/dev/null || { echo "servers: apt-get update failed; check the network" >&2; exit 1; }
log=$(mktemp)
apt-get install -y -qq --no-install-recommends mariadb-server postgresql >"$log" 2>&1 || { tail -5 "$log" >&2; exit 1; }
complete || { echo "servers: installed, but not where they were expected" >&2; exit 1; }
