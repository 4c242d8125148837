#!/usr/bin/env bash
# See to it that Java 17 or newer is here; with the argument "build" also its compiler and Maven.
# Installs them on Debian as root; elsewhere says in one line what to do.
set -euo pipefail

build=${1:-}
version() { java -version 2>&1 | sed -nE 's/.*version "([0-9]+).*/\1/p' | head -1; }
complete() {
  command -v java >/dev/null 2>&1 && [ "$(version)" -ge 17 ] 2>/dev/null || return 1
  [ -z "$build" ] || { command -v javac >/dev/null 2>&1 && command -v mvn >/dev/null 2>&1; }
}
complete && exit 0

kind=jre
[ -n "$build" ] && kind=jdk
wish="Java 17 or newer${build:+, its compiler and Maven}"
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "java: $wish must be on PATH; on Debian: sudo apt-get install openjdk-17-$kind-headless${build:+ maven}" >&2
  exit 1
fi
echo "java: installing $wish ..." >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >/dev/null || { echo "java: apt-get update failed; check the network" >&2; exit 1; }
package=openjdk-17-$kind-headless
apt-cache show "$package" >/dev/null 2>&1 || package=default-$kind-headless
log=$(mktemp)
apt-get install -y -qq --no-install-recommends "$package" ${build:+maven} >"$log" 2>&1 || { tail -5 "$log" >&2; exit 1; }
complete || { echo "java: $package is installed, but java on PATH is still older than 17" >&2; exit 1; }
