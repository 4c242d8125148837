"""A setting that is wrong is told of at once, as ``invalid``, with what to set; Airflow never retries it.

The causes are those of ``docs/wrong-settings.md``: the table there and the cases here are compared.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import Connection

import table_core as tc
from paimon_provider.connections.warehouse import SparkSettings, Warehouse
from paimon_provider.failures import RETRY
from paimon_provider.launchers.local_process import LocalProcessLauncher
from paimon_provider.launchers.spark_submit import SparkSubmitLauncher
from paimon_provider.launchers.standalone import StandaloneLauncher
from table_core.errors import ErrorKind, TableError
from table_core.jobs.job_spec import JobSpec
from tests.tables import write_rows

PAGE = Path(__file__).parents[2] / "docs" / "wrong-settings.md"


def read(extra: dict[str, Any], **more: Any) -> Warehouse:
    connection = Connection(
        conn_id="wh",
        conn_type="paimon",
        extra=json.dumps({"warehouse": "file:///tmp/wh", **extra}),
        **more,
    )
    return Warehouse.of(connection)


def run(launcher: Any, folder: Path) -> object:
    spec = JobSpec(
        action="delete",
        warehouse=folder.as_uri(),
        table="d.t",
        commit_user="u",
        commit_identifier=1,
        args={"where": "k = 1"},
    )
    return launcher.run(spec, log=lambda _: None)


def stocked(folder: Path) -> None:
    import pyarrow as pa

    catalog = tc.open_catalog(folder.as_uri())
    catalog.create_database("d", if_not_exists=True)
    table = catalog.create_table("d.t", pa.table({"k": [1]}).schema, if_not_exists=True)
    write_rows(table, pa.table({"k": [1, 2]}))


def without_java(folder: Path) -> SparkSettings:
    return SparkSettings(env={"PATH": str(folder), "JAVA_HOME": None})


def on_spark(settings: SparkSettings, folder: Path) -> object:
    stocked(folder)
    return run(LocalProcessLauncher(settings), folder)


CAUSES: dict[str, Callable[[Path], object]] = {
    "an unknown field of the connection": lambda _: read({"warhouse": "x"}),
    "no warehouse, or one that is no place": lambda _: read({"warehouse": "lake/wh"}),
    "an unknown kind of store": lambda _: tc.open_catalog("s4://lake/wh"),
    "a wrong `metastore`": lambda _: read({"metastore": "glue"}),
    "a catalog in a database that is not known": lambda _: tc.open_catalog(
        "file:///tmp/wh", storage_options={"metastore": "jdbc", "uri": "jdbc:oracle://h/d"}
    ).databases(),
    "a catalog in a database that is not there": lambda f: tc.open_catalog(
        f.as_uri(), storage_options={"metastore": "jdbc", "uri": f"jdbc:sqlite:{f}/no/such.db"}
    ).databases(),
    "a wrong `spark_backend`": lambda _: read({"spark_backend": "spark_submit"}),
    "a `spark_master` that is no address": lambda _: read({"spark_master": "loca[2]"}),
    "a `spark_master` of another backend": lambda _: read(
        {"spark_backend": "standalone", "spark_master": "local[2]"}
    ),
    "a wrong `spark_rest_port`": lambda _: read({"spark_rest_port": "70000"}),
    "a wrong `spark_conf`": lambda _: read({"spark_conf": {"spark.driver.memory": "lots"}}),
    "a password that is no JSON": lambda _: read({}, password="secret"),
    "no Java": lambda f: on_spark(without_java(f), f),
    "a `JAVA_HOME` without Java": lambda f: on_spark(SparkSettings(env={"JAVA_HOME": str(f)}), f),
    "no `spark_job_folder`": lambda f: run(
        StandaloneLauncher(SparkSettings(backend="standalone", master="spark://h:7077")), f
    ),
}


def told(cause: str, folder: Path) -> TableError:
    with pytest.raises(TableError) as caught:
        CAUSES[cause](folder)
    return caught.value


@pytest.mark.parametrize("cause", CAUSES)
def test_it_is_invalid_and_not_retried(cause: str, tmp_path: Path) -> None:
    error = told(cause, tmp_path)
    assert error.kind in {ErrorKind.INVALID, ErrorKind.UNSUPPORTED}
    assert error.kind is ErrorKind.INVALID or "not known" in cause
    assert not RETRY[error.kind]
    assert {"argument", "option", "feature"}.intersection(error.facts)


def test_spark_submit_finds_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    settings = SparkSettings(backend="spark-submit", env={"PATH": os.fspath(tmp_path)})
    with pytest.raises(tc.errors.ArgumentError, match="Java"):
        run(SparkSubmitLauncher(settings), tmp_path)


@pytest.mark.parametrize(
    ("backend", "master"),
    [
        ("local", "local"),
        ("local", "local[4]"),
        ("local", "local[*, 3]"),
        ("local", "spark://a:7077"),
        ("spark-submit", "spark://a:7077,b:7077"),
        ("spark-submit", "spark://[::1]:7077"),
        ("spark-submit", "yarn"),
        ("spark-submit", "k8s://https://10.0.0.1:6443"),
        ("standalone", "spark://a:7077,b:7077"),
        ("connect", "sc://h"),
        ("connect", "sc://h:15002/;use_ssl=true"),
    ],
)
def test_an_address_that_spark_understands_is_taken(backend: str, master: str) -> None:
    assert SparkSettings(backend=backend, master=master).master == master


def test_the_page_has_each_cause_with_its_class_and_kind(tmp_path: Path) -> None:
    rows = re.findall(r"^\| (.+?) \| `(\w+)` \| `([a-z-]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert {cause for cause, *_ in rows} == set(CAUSES)
    for number, (cause, name, kind) in enumerate(rows):
        folder = tmp_path / str(number)
        folder.mkdir()
        if "Java" in cause or "JAVA" in cause:
            continue  # a process each: the test above has them
        error = told(cause, folder)
        assert (type(error).__name__, error.kind) == (name, kind)


def test_a_setting_that_only_spark_understands_is_invalid_where_spark_refuses_it(
    tmp_path: Path,
) -> None:
    with pytest.raises(tc.errors.ArgumentError, match=r"no\.such\.Class"):
        on_spark(
            SparkSettings(master="local[1]", conf={"spark.serializer": "no.such.Class"}), tmp_path
        )
