"""Goal: a session that somebody else made is told from ours: what it lacks is said, and what it is set to stays.

Method: settings, properties and errors of one session; a plain session of another Python in a process of its own.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
import table_core.spark as tcs
from table_core.errors import ArgumentError, DataError
from table_core.spark.session import workers_python
from table_core.spark.session.doing import doing
from table_core.spark.session.failures import SPARK_ERRORS, TaskFailedError, explained
from tests.tables import write_rows

GROUP, DESCRIPTION = "spark.jobGroup.id", "spark.job.description"
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())])
classic = pytest.mark.skipif(
    os.environ.get("SPARK_TESTS_ON") == "connect", reason="a client has no context"
)


@pytest.fixture
def table(catalog: tc.Catalog) -> tc.Table:
    return catalog.create_table("d.t", SCHEMA, primary_key=("id",), options={"bucket": "1"})


@classic
def test_jobs_are_called_by_verb_and_table_and_the_thread_is_left_as_it_was(
    spark: Any, table: tc.Table
) -> None:
    context = spark.sparkContext
    heard: list[tuple[str | None, str | None]] = []

    def hear(rows: Any) -> Any:
        heard.append((context.getLocalProperty(GROUP), context.getLocalProperty(DESCRIPTION)))
        return rows

    frame = spark.range(3).selectExpr("id", "id AS n")
    frame.toDF = lambda *names: hear(type(frame).toDF(frame, *names))
    tcs.write(frame, table)
    context.setJobGroup("theirs", "why")
    try:
        tcs.write(df=frame, table=table)
        assert context.getLocalProperty(DESCRIPTION) == "why"
    finally:
        for key in (GROUP, DESCRIPTION):
            context.setLocalProperty(key, None)
    assert heard == [("write d.t", "write d.t"), ("theirs", "write d.t: why")]
    tcs.delete(spark, table, "id = 1")
    assert (context.getLocalProperty(GROUP), context.getLocalProperty(DESCRIPTION)) == (None, None)


@classic
def test_jobs_of_a_session_that_starts_inside_a_verb_are_called_so_too(spark: Any) -> None:
    from table_core.spark.session.create import started

    context = spark.sparkContext
    with doing(lambda: spark, "compact d.t"):
        assert context.getLocalProperty(DESCRIPTION) is None
        started(lambda: spark)
        with doing(spark, "write d.t"):
            assert context.getLocalProperty(DESCRIPTION) == "compact d.t"
    assert context.getLocalProperty(DESCRIPTION) is None


@classic
def test_options_that_a_session_has_for_the_jar_are_named_once(
    spark: Any, table: tc.Table, caplog: pytest.LogCaptureFixture
) -> None:
    write_rows(table, pa.table({"id": [1], "n": [1]}, schema=SCHEMA))
    spark.sql("SET `spark.paimon.scan.snapshot-id`=7")
    try:
        with caplog.at_level(logging.WARNING):
            assert tcs.read(spark, table).count() == tcs.read(spark, table).count() == 1
    finally:
        spark.conf.unset("spark.paimon.scan.snapshot-id")
    told = [line for line in caplog.messages if "spark.paimon.scan.snapshot-id" in line]
    assert len(told) == 1
    assert "options={...}" in told[0]


@classic
def test_workers_of_another_python_are_refused_with_what_to_set(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "python3"
    other.write_text(f'#!/bin/sh\ncd {tmp_path}\nPYTHONPATH= exec {sys.executable} -S "$@"\n')
    other.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(other))
    with pytest.raises(ArgumentError, match="PYSPARK_PYTHON=") as caught:
        workers_python.require_workers_python(spark)
    assert sys.executable in str(caught.value)
    said = "Traceback:\nModuleNotFoundError: No module named 'table_core'\n"
    assert "PYSPARK_PYTHON=" in str(explained(RuntimeError(said)))


def test_the_last_line_of_a_failed_task_is_what_was_wrong() -> None:
    wrong = DataError("d.t: row 3 of n is no number", column="n", row=3, value="x")
    text = f"Traceback:\n{TaskFailedError(wrong)}"
    assert text.splitlines()[-1] == "d.t: row 3 of n is no number"
    told = explained(RuntimeError(f"{text}\n\tat org.apache.spark.X(X.java:1)"))
    assert (type(told), str(told), told.facts) == (DataError, str(wrong), wrong.facts)


def test_what_java_adds_to_an_error_is_left_out() -> None:
    text = (
        "An error occurred while calling o80.collectToPython.\n: org.apache.spark.SparkException: Job aborted "
        "due to stage failure: Total size of serialized results of 1 tasks (96.0 MiB) is bigger than "
        "spark.driver.maxResultSize (64.0 MiB)\n"
        "\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:2785)\n"
        "\tat scala.Option.foreach(Option.scala:437)\n\t... 3 more\n"
        "Caused by: java.io.IOException: No space left on device\n\tat java.base/java.io.FileOutputStream.write(X.java:1)\n"
    )
    error = str(explained(RuntimeError(text)))
    assert error == (
        "Spark failed: org.apache.spark.SparkException: Job aborted due to stage failure: Total size of "
        "serialized results of 1 tasks (96.0 MiB) is bigger than spark.driver.maxResultSize (64.0 MiB)\n"
        "Caused by: java.io.IOException: No space left on device"
    )


def test_the_plan_of_a_query_that_is_refused_is_left_out(spark: Any) -> None:
    frame = spark.range(3).selectExpr("id", "'x' AS t")
    with pytest.raises(SPARK_ERRORS) as caught:
        frame.join(frame.alias("other"), "id").selectExpr("abs(array(other.t))").printSchema()
    told = str(explained(caught.value))
    assert "DATATYPE_MISMATCH" in told
    assert "\n" not in told, told
    for text in (
        "it is wrong;\nProject nothing of it",
        "a;\nb",
        "== SQL ==\nSELECT 1;\nSELECT 2\n---^^^",
    ):
        assert str(explained(RuntimeError(text))).endswith(text)


def test_a_time_of_the_other_kind_is_refused_with_the_cast(spark: Any, catalog: tc.Catalog) -> None:
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us"))])
    table = catalog.create_table("d.times", schema, options={"bucket": "-1"})
    now = spark.range(1).selectExpr("id", "current_timestamp() AS at")
    with pytest.raises(DataError, match=r"TIMESTAMP in Spark.*CAST\(`at` AS TIMESTAMP_NTZ\)"):
        tcs.write(now, table)
    tcs.write(now.selectExpr("id", "CAST(`at` AS TIMESTAMP_NTZ) AS at"), table)
    assert table.read().to_arrow().num_rows == 1
