#!/usr/bin/env bash
# Make a virtual environment with exactly the versions of constraints.txt.
#
#   demo/venv.sh VENV SPEC...    VENV: folder to make;  SPEC: a wheel, or the folder of a project, with extras
#
# Uses uv where it is installed, else `python -m venv` and pip.  PYTHON=... chooses the interpreter.
set -euo pipefail

fail() { echo "venv: $*" >&2; exit 1; }
[ $# -ge 2 ] || fail "usage: demo/venv.sh VENV SPEC..."
venv=$1
shift
constraints="$(cd "$(dirname "$0")/.." && pwd)/constraints.txt"

python=
for candidate in "${PYTHON:-python3}" python3.11 python3.12 python3.13 python3 python; do
  if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
    python=$("$candidate" -c 'import sys; print(sys.executable)')
    break
  fi
done
[ -n "$python" ] || fail "Python 3.11 or newer is needed (set PYTHON=/path/to/python3.11)"

install=(-c "$constraints")
for spec in "$@"; do
  [ -d "${spec%%\[*}" ] && install+=(-e)   # a folder: its code is used where it lies
  install+=("$spec")
done
if command -v uv >/dev/null 2>&1 && uv --version >/dev/null 2>&1; then
  [ -x "$venv/bin/python" ] || uv venv -q --python "$python" "$venv" || fail "uv could not make $venv"
  uv pip install -q --python "$venv/bin/python" "${install[@]}" \
    || fail "uv could not install $* into $venv; its reason stands above"
else
  # a venv whose making was cut off has a python and no pip
  "$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv "$venv" \
    || fail "$python -m venv failed; on Debian: apt-get install python3-venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check "${install[@]}" \
    || fail "pip could not install $* into $venv; its reason stands above"
fi
"$venv/bin/python" - <<'PY' || fail "$venv is not usable; delete it and try again"
from importlib.metadata import PackageNotFoundError, version
import sys
try:
    spark, client = version("pyspark"), version("pyspark-client")
except PackageNotFoundError:  # the core alone has neither
    sys.exit()
if spark != client:
    sys.exit(f"venv: pyspark {spark} and pyspark-client {client} overlay one folder and must be equal")
PY
