#!/usr/bin/env bash
# See to it that Chromium is here; installs it on Debian as root.
set -euo pipefail
command -v chromium >/dev/null 2>&1 && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "browser: Chromium is needed; on Debian: sudo apt-get install chromium" >&2
  exit 1
fi
echo "browser: installing Chromium ..." >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >/dev/null || { echo "browser: apt-get update failed; check the network" >&2; exit 1; }
log=$(mktemp)
apt-get install -y -qq --no-install-recommends chromium >"$log" 2>&1 || { tail -5 "$log" >&2; exit 1; }
