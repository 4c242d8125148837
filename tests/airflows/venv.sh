#!/usr/bin/env bash
# Make a virtual environment with one Airflow, from the constraints that lie beside this file; the newest has constraints.txt.
#
#   tests/airflows/venv.sh VENV VERSION
#
# PYTHON=... chooses the interpreter.  Our own code is used where it lies: PYTHONPATH of pytest has it.
set -euo pipefail

[ $# -eq 2 ] || { echo "usage: tests/airflows/venv.sh VENV VERSION" >&2; exit 1; }
venv=$1
version=$2
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"
constraints="$here/constraints-$version.txt"
grep -qx "apache-airflow==$version" "$root/constraints.txt" && constraints="$root/constraints.txt"
stamp="$venv/.installed"

[ -f "$constraints" ] || { echo "no constraints for Airflow $version: $constraints" >&2; exit 1; }
[ "$stamp" -nt "$constraints" ] && exit 0
if command -v uv >/dev/null 2>&1; then
  [ -x "$venv/bin/python" ] || uv venv -q --python "${PYTHON:-python3.11}" "$venv"
  install=(uv pip install -q --python "$venv/bin/python")
else
  [ -x "$venv/bin/python" ] || "${PYTHON:-python3.11}" -m venv "$venv"
  install=("$venv/bin/python" -m pip install -q --disable-pip-version-check)
fi
"${install[@]}" -c "$constraints" "apache-airflow==$version" apache-airflow-providers-apache-spark apache-airflow-providers-common-sql pyspark-client \
  -e "$root/table_core[cli,duckdb,spark,s3,mysql]" pytest pytest-timeout hypothesis psutil "psycopg[binary]" psycopg2-binary
"${install[@]}" --no-deps -e "$root"
touch "$stamp"
