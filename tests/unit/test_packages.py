"""What is not installed, or not as it should be, is said in one line, at once and with its cure."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from table_core.errors import ErrorKind, TableError
from table_core.spark import _compat

ROOT = Path(__file__).parents[2]
ASKED = {
    "s3": "import table_core as tc; tc.open_catalog('s3://b/w')",
    "gcs": "import table_core as tc; tc.open_catalog('gs://b/w')",
    "azure": "import table_core as tc; tc.open_catalog('abfs://b@a.dfs.core.windows.net/w')",
    "postgres": "from table_core.cdc.postgres.source import _driver; _driver()",
    "mysql": "from table_core.cdc.mysql.source import _driver; _driver()",
    "kafka": "import table_core as tc; tc.KafkaSource('localhost:1', ['t'], 'debezium-json').open()",
}
PACKAGES = {
    "s3": "s3fs",
    "gcs": "gcsfs",
    "azure": "adlfs",
    "postgres": "psycopg",
    "mysql": "pymysql",
    "kafka": "confluent_kafka",
}


@pytest.mark.parametrize("extra", ASKED)
def test_a_missing_package_names_the_extra_that_brings_it(extra: str) -> None:
    program = f"""
import sys
sys.modules[{PACKAGES[extra]!r}] = None
from table_core.errors import TableError
try:
    {ASKED[extra]}
except TableError as error:
    print(error.kind, error)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert said.stdout.startswith("invalid "), said
    assert f"pip install 'airflow-provider-paimon[{extra}]'" in said.stdout


def test_two_versions_of_pyspark_in_one_folder_are_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _compat.require_equal_versions()
    found = {"pyspark": "4.2.1", "pyspark-client": "4.2.0"}
    monkeypatch.setattr(_compat, "version", found.__getitem__)
    with pytest.raises(TableError, match=r"pyspark 4\.2\.1 and pyspark-client 4\.2\.0") as caught:
        _compat.require_equal_versions()
    assert caught.value.kind is ErrorKind.INVALID
    assert "pip install" in str(caught.value)


def test_the_declared_dependencies_cannot_choose_two_versions_of_pyspark() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    spark = [line for line in project["dependencies"] if line.startswith("pyspark")]
    versions = {line.partition("==")[2] for line in spark}
    assert len(spark) == 2
    assert len(versions - {""}) == 1
    assert f"pyspark=={versions.pop()}" in (ROOT / "constraints.txt").read_text()
