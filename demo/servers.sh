#!/usr/bin/env bash
# See to it that the programs of the named servers are here: mariadb, postgresql, kafka, s3.
# Installs on Debian as root; elsewhere says in one line what to do.  Other names need nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "servers: $*" >&2; exit 1; }

present() {
  case $1 in
    mariadb) command -v mariadbd >/dev/null 2>&1 && command -v mariadb-install-db >/dev/null 2>&1 ;;
    postgresql) compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null ;;
    maven) command -v mvn >/dev/null 2>&1 ;;
  esac
}

packages=()
need() { present "$1" || packages+=("$2"); }
kafka=
for name in "$@"; do
  case $name in
    mariadb) need mariadb mariadb-server ;;
    postgresql) need postgresql postgresql ;;
    kafka) kafka=yes; compgen -G '.cache/kafka/kafka_2.13-*.jar' >/dev/null || need maven maven ;;
  esac
done

if [ ${#packages[@]} -gt 0 ]; then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    fail "needed: ${packages[*]}; on Debian: sudo apt-get install ${packages[*]}"
  fi
  echo "servers: installing ${packages[*]} ..." >&2
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >/dev/null || fail "apt-get update failed; check the network"
  log=$(mktemp)
  apt-get install -y -qq --no-install-recommends "${packages[@]}" >"$log" 2>&1 || { tail -5 "$log" >&2; exit 1; }
fi
if [ -n "$kafka" ] && ! compgen -G '.cache/kafka/kafka_2.13-*.jar' >/dev/null; then
  echo "servers: getting Kafka's jars from Maven Central ..." >&2
  mvn -q -B -f demo/kafka/pom.xml dependency:copy-dependencies \
    -DoutputDirectory="$PWD/.cache/kafka" -DincludeScope=runtime || fail "Maven could not get Kafka's jars"
fi
