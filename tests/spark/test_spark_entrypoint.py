"""Goal: a launcher needs a spec file, a result file and an exit status, and nothing else.

Method: real processes; each that moves rows starts a JVM of its own, so there are few.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core import errors
from table_core.jobs.job_spec import JobResult, JobSpec
from table_core.spark.entrypoint import EXIT_CODES, main
from tests.spark.submitted import MODULE, QUICK, ROOT, ended, environment, job
from tests.tables import write_rows

if TYPE_CHECKING:
    pass

SCRIPT = ROOT / "table_core" / "spark" / "entrypoint.py"


@pytest.fixture
def customers(catalog: tc.Catalog) -> tc.Table:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("country", pa.string())])
    table = catalog.create_table(
        "d.customers", schema, primary_key=("id",), options={"bucket": "1", "write-only": "true"}
    )
    for turn in range(2):
        write_rows(table, pa.table({"id": [1, 2, 3], "country": ["de", "fr", f"x{turn}"]}))
    return table


def spec_of(catalog: tc.Catalog, action: str, table: str, **args: Any) -> JobSpec:
    options = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2"}
    return JobSpec(
        action=action,
        warehouse=catalog.storage.uri,
        table=table,
        args=args,
        options=options,
        commit_user=f"test-{action}",
        commit_identifier=0,
    )


def test_a_write_job_leaves_its_result_and_tells_its_progress(
    catalog: tc.Catalog, customers: tc.Table, tmp_path: Path
) -> None:
    schema = pa.schema([pa.field("country", pa.string(), nullable=False), ("n", pa.int64())])
    sales = catalog.create_table(
        "d.sales", schema, primary_key=("country",), options={"bucket": "2"}
    )
    sql = "SELECT country, count(*) AS n FROM customers GROUP BY country"
    sources = {"customers": {"table": "d.customers"}}
    spec = spec_of(catalog, "write", "d.sales", sql=sql, sources=sources)
    status, result, progress = job(tmp_path, spec)
    assert result.error is None
    assert result.result is not None
    assert (status, result.result["rows_written"]) == (0, 3)
    stages = [line["stage"] for line in progress if line["event"] == "progress"]
    told = [stage for stage in stages if stage != "tasks"]
    assert told == ["started", "session", "spark", "query", "write", "committed", "done"]
    [committed] = [line for line in progress if line["stage"] == "committed"]
    assert committed["rows"] == 3
    assert committed["bytes"] > 0
    assert {row["country"] for row in sales.read().to_arrow().to_pylist()} == {"de", "fr", "x1"}


ALONE = """
import re, sys
from importlib.machinery import PathFinder
from importlib.metadata import packages_distributions

def plain(name):
    return re.sub("[-_.]+", "-", name).lower()

needed = {plain(line.partition("==")[0].strip()) for line in open(sys.argv.pop(1)) if "==" in line}
homes = packages_distributions()

class OnlyNeeded(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        found = homes.get(name.partition(".")[0])
        if found and not needed & set(map(plain, found)):
            return None
        return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = OnlyNeeded
from table_core.spark.entrypoint import EXIT_CODES, main
sys.exit(main(sys.argv[1:]))
"""


def test_a_machine_without_airflow_needs_what_the_file_says(
    catalog: tc.Catalog, customers: tc.Table, tmp_path: Path
) -> None:
    """``constraints-executor.txt``: everything else is refused as if it were not installed."""
    needed = ROOT / "constraints-executor.txt"
    command = (sys.executable, "-c", ALONE, str(needed))
    args = {"sql": "SELECT 7L AS id, 'x' AS country", "sources": {}}
    status, result, _ = job(tmp_path, spec_of(catalog, "write", "d.customers", **args), command)
    assert (status, result.error) == (0, None)
    everything = set((ROOT / "constraints.txt").read_text().splitlines())
    assert {line for line in needed.read_text().splitlines() if "==" in line} <= everything


def test_private_options_are_taken_and_deleted(catalog: tc.Catalog, tmp_path: Path) -> None:
    private = tmp_path / "private.json"
    private.write_text(
        json.dumps({"options": {"storage.token": "x"}, "args": {"columns": {"a": "INT"}}})
    )
    spec = replace(spec_of(catalog, "create-table", "d.new"), args={"options": {"bucket": "-1"}})
    status, result, _ = job(tmp_path, spec, MODULE, "--private", str(private))
    assert (status, result.error) == (0, None)
    assert catalog.table("d.new").arrow_schema.names == ["a"]
    assert not private.exists()


def test_a_driver_ends_with_the_jvm_that_started_it(catalog: tc.Catalog, tmp_path: Path) -> None:
    """Spark's runner holds the other end of standard input; a pipe of ours stands for it."""
    code = (
        "import os, time; from table_core.spark.session.lifetime import end_with_runner;"
        "end_with_runner(); print('up', flush=True); time.sleep(600)"
    )
    environ = {**environment(), "PYSPARK_GATEWAY_PORT": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    driver = subprocess.Popen([sys.executable, "-c", code], env=environ, **pipes)  # type: ignore[call-overload]
    assert driver.stdout.readline() == b"up\n"
    assert driver.poll() is None
    driver.stdin.close()
    assert driver.wait(180) == 143
    driver.stdout.close()


def submitted() -> tuple[str, ...]:
    """The command that submits the file itself."""
    submit = shutil.which("spark-submit", path=environment()["PATH"])
    assert submit is not None
    quick = QUICK.partition("=")[2].strip()
    return (submit, "--master", "local[2]", "--driver-java-options", quick, str(SCRIPT))


def test_a_driver_whose_listeners_are_slow_logs_no_configuration(
    catalog: tc.Catalog, customers: tc.Table, tmp_path: Path
) -> None:
    """A threshold of nothing makes every event a slow one; a busy machine needs a second."""
    sql, sources = "SELECT id, country FROM customers", {"customers": {"table": "d.customers"}}
    spec = spec_of(catalog, "write", "d.customers", sql=sql, sources=sources)
    slow = {"spark.scheduler.listenerbus.logSlowEvent.threshold": "0ms"}
    spec = replace(spec, options={**spec.options, **slow, "spark.hadoop.a.secret.key": "PLANTED"})
    done = ended(tmp_path, spec, submitted())
    assert done.returncode == 0, done.stderr[-3000:]
    assert "INFO DAGScheduler" in done.stderr
    assert "PLANTED" not in done.stderr + done.stdout


def test_spark_submit_runs_the_file_itself(
    catalog: tc.Catalog, customers: tc.Table, tmp_path: Path
) -> None:
    spec = spec_of(catalog, "compact", "d.customers", strategy="full")
    status, result, _ = job(tmp_path, spec, submitted())
    assert result.error is None
    assert result.result is not None
    assert (status, result.result["files_before"], result.result["files_after"]) == (0, 2, 1)
    head = customers.latest_snapshot()
    assert head is not None
    assert (head.commit_kind, head.commit_user) == ("COMPACT", "test-compact")


def test_merge_into_and_then_bad_sql(
    catalog: tc.Catalog, customers: tc.Table, tmp_path: Path
) -> None:
    sources = {"customers": {"table": "d.customers"}}
    source = {
        "sql": "SELECT id, upper(country) country FROM customers WHERE id < 3",
        "sources": sources,
    }
    when = [{"action": "matched-upsert"}, {"action": "not-matched-by-source-delete"}]
    spec = spec_of(catalog, "merge-into", "d.customers", source=source, on=["id"], when=when)
    status, result, _ = job(tmp_path, spec)
    assert (status, result.error) == (0, None)
    rows = sorted(row["country"] for row in customers.read().to_arrow().to_pylist())
    assert rows == ["DE", "FR"]

    before = customers.latest_snapshot()
    spec = spec_of(
        catalog, "write", "d.customers", sql="SELECT nope FROM customers", sources=sources
    )
    status, result, progress = job(tmp_path, spec)
    assert isinstance(result.error, errors.ArgumentError)
    assert "nope" in str(result.error)
    assert status == 12
    assert progress[-1]["stage"] == "failed"
    assert customers.latest_snapshot() == before


def test_actions_without_rows_start_no_jvm(
    catalog: tc.Catalog, customers: tc.Table, tmp_path: Path
) -> None:
    code = (
        "import sys; from table_core.spark.entrypoint import main; status = main(sys.argv[1:]);"
        "sys.exit(status or (99 if 'pyspark.core.context' in sys.modules and"
        " sys.modules['pyspark.core.context'].SparkContext._gateway else 0))"
    )
    columns = {"id": "BIGINT", "v": "STRING"}
    command = (sys.executable, "-c", code)
    for action, table, args in [
        ("create-table", "d.new", {"columns": columns, "options": {"bucket": "-1"}}),
        (
            "alter-table",
            "d.new",
            {"changes": [{"change": "AddColumn", "name": "w", "type": "INT"}]},
        ),
        ("expire-snapshots", "d.customers", {"retain_max": 1, "retain_min": 1}),
        ("compact", "d.new", {"strategy": "full"}),
    ]:
        status, result, progress = job(tmp_path, spec_of(catalog, action, table, **args), command)
        assert (status, result.error) == (0, None), action
        assert [p["stage"] for p in progress if p["stage"] == "session"] == []


def test_every_kind_of_error_has_a_status_of_its_own_that_the_guide_lists() -> None:
    assert EXIT_CODES.keys() == set(errors.ErrorKind)
    listed = re.findall(
        r"^\| (\d+) \| `([a-z-]+)` \|", (ROOT / "docs/spark-clusters.md").read_text(), re.MULTILINE
    )
    assert {kind: int(status) for status, kind in listed} == EXIT_CODES
    assert len(set(EXIT_CODES.values())) == len(EXIT_CODES)


@pytest.mark.parametrize(
    ("spec", "kind", "status"),
    [
        ("not json", "invalid", 12),
        ('{"version": 9, "action": "write", "warehouse": "x", "args": {}}', "unsupported", 14),
        (
            '{"version": 1, "action": "compact", "warehouse": "/no/where", "table": "a.b", "args": {}}',
            "not-found",
            15,
        ),
    ],
)
def test_a_spec_that_cannot_run_says_why(tmp_path: Path, spec: str, kind: str, status: int) -> None:
    (tmp_path / "spec.json").write_text(spec)
    result_file = tmp_path / "result.json"
    found = main(["--spec", str(tmp_path / "spec.json"), "--result", str(result_file)])
    result = JobResult.from_json(result_file.read_text())
    assert result.error is not None
    assert (found, result.error.kind.value) == (status, kind)
