#!/usr/bin/env bash
# Unpack another PySpark into a folder of its own, to be put first on PYTHONPATH.
#
#   tests/pyspark.sh FOLDER VERSION
#
# The client overlays the same folder, so both come in one version; what they need is in .venv already.
set -euo pipefail

folder=$1 version=$2
[ -f "$folder/.version" ] && [ "$(cat "$folder/.version")" = "$version" ] && exit 0
rm -rf "$folder"
packages=("pyspark==$version" "pyspark-client==$version")
if command -v uv >/dev/null 2>&1 && uv --version >/dev/null 2>&1; then
  uv pip install -q --python .venv/bin/python --target "$folder" --no-deps "${packages[@]}"
else
  .venv/bin/python -m pip install -q --disable-pip-version-check --target "$folder" --no-deps "${packages[@]}"
fi
echo "$version" >"$folder/.version"
