"""Goal: a job's log is lines for a reader: no bar, no banner, and an end that says what came of it.

Method: real jobs on Spark in processes of their own, with bars asked for; lines as Spark draws them.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from paimon_provider.connections.warehouse import SparkSettings
from paimon_provider.launchers.embedded import EmbeddedLauncher
from paimon_provider.launchers.job_log import ProgressLine, progress_of, without_console
from paimon_provider.launchers.local_process import LocalProcessLauncher
from table_core.errors import CorruptFileError, TableError
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.last_line import failed_facts
from tests.tables import write_rows

BARS = {
    "spark.master": "local[2]",
    "spark.ui.showConsoleProgress": "true",
    "spark.ui.consoleProgress.update.interval": "20",
    "spark.sql.shuffle.partitions": "3",
}
TOLD = "7d5e"


def write_spec(warehouse: Path, sql: str) -> JobSpec:
    catalog = tc.open_catalog(str(warehouse))
    catalog.create_database("d")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
    table = catalog.create_table("d.t", schema, primary_key=("id",), options={"bucket": "2"})
    write_rows(table, pa.table({"id": range(9), "v": ["x"] * 9}))
    args = {"sql": sql, "sources": {"t": {"table": "d.t"}}}
    return JobSpec(action="write", warehouse=str(warehouse), table="d.t", args=args)


def read_lines(launcher: object, spec: JobSpec) -> tuple[list[str], TableError | None]:
    lines: list[str] = []
    try:
        launcher.run(spec, log=lines.append)  # type: ignore[attr-defined]
    except TableError as error:
        return lines, error
    return lines, None


def test_a_spark_job_tells_what_it_did_and_draws_nothing(tmp_path: Path) -> None:
    sql = "SELECT id, max(reverse(v)) v FROM (SELECT DISTINCT * FROM t) GROUP BY id"
    lines, error = read_lines(
        LocalProcessLauncher(SparkSettings(conf=BARS)), write_spec(tmp_path, sql)
    )
    assert error is None
    drawn = [
        line for line in lines if any(m in line for m in ("[Stage", "\r", "log4j", "incubator"))
    ]
    assert drawn == []
    assert [line for line in lines if "event" in line and not isinstance(line, ProgressLine)] == []
    last = progress_of(lines[-1]) or ""
    assert last.startswith("done: action write, table d.t, snapshot 1 to 2, rows_written 9"), last


@pytest.mark.parametrize("engine", ["spark", "local"])
def test_a_job_that_fails_ends_with_the_error_and_what_it_came_of(
    tmp_path: Path, engine: str
) -> None:
    spec = write_spec(tmp_path, "SELECT id, v FROM t")
    [file] = tmp_path.glob("d.db/t/bucket-0/*.parquet")
    file.write_bytes(b"no parquet at all, and of another length than the manifest says")
    launcher = (
        LocalProcessLauncher(SparkSettings(conf=BARS)) if engine == "spark" else EmbeddedLauncher()
    )
    lines, error = read_lines(launcher, spec)
    assert isinstance(error, CorruptFileError)
    assert isinstance(lines[-1], ProgressLine), lines[-5:]
    last = progress_of(lines[-1]) or ""
    assert last.startswith("failed: error CorruptFileError (corrupt): "), last
    assert str(error).splitlines()[0] in last
    assert ", cause " in last


@pytest.mark.parametrize(
    ("drawn", "left"),
    [
        ("\r[Stage 2:>         (0 + 2) / 2]\r\r[Stage 2:====>    (1 + 1) / 2]\r" + TOLD, TOLD),
        ("\r[Stage 12:==>  (1 + 1) / 2][Stage 13:>  (0 + 0) / 2]", None),
        ("\r" + " " * 80 + "\r" + TOLD, TOLD),
        ("\r" + " " * 80 + "\r", None),
        ('Setting default log level to "WARN".', None),
        ("26/11/24 11:57:02 WARN NativeCodeLoader: Unable to load native-hadoop library for", None),
        ("26/11/24 11:57:02 WARN TaskSetManager: Lost task 0.0 in stage 1.0", ...),
        ("a row says [Stage 1] and nothing else", ...),
        ("", ...),
        ("  indented\rand returned", ...),
    ],
)
def test_only_what_spark_draws_for_a_terminal_is_left_out(drawn: str, left: object) -> None:
    assert without_console(drawn) == (drawn if left is ... else left)


def test_the_first_cause_is_the_innermost_wherever_it_was_raised() -> None:
    try:
        try:
            raise OSError("the disk is gone")
        except OSError as disk:
            raise CorruptFileError("f: cannot be read", path="f", problems=[]) from disk
    except CorruptFileError as error:
        assert failed_facts(error)["cause"] == "OSError: the disk is gone"
    java = RuntimeError("Spark failed\n\tat x\nCaused by: java.io.IOException: no space\n\tat y")
    assert failed_facts(ValueError("v"), java)["cause"] == "java.io.IOException: no space"
    worker = RuntimeError("Traceback\nKeyError: 'k'\n\nThe above exception was the direct cause of")
    assert failed_facts(ValueError("v"), worker)["cause"] == "KeyError: 'k'"
    assert failed_facts(ValueError("two\nlines")) == {
        "error": "ValueError: two lines",
        "cause": None,
    }
