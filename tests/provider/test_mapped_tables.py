"""Tasks that are mapped over tables: each one announces its own, and none that of another."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_core.table.api.catalog import Catalog
from tests.provider.attempts import of_dag
from tests.tables import write_rows

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

DYING_LATE = """
import os
class _Late:
    '''The second index does its work, and then dies while the file ``die`` is there.'''
    def execute(self, context):
        found = super().execute(context)
        if context["ti"].map_index == 1 and os.path.exists(os.environ["DIE"]):
            raise RuntimeError("after the work")
        return found
class RelayThatDies(_Late, PaimonRelayPartitionsOperator):
    pass
class ReportThatDies(_Late, PaimonChangeReportOperator):
    pass
"""
SCHEMA = pa.schema([("id", pa.int64()), ("dt", pa.string())])


@pytest.fixture(autouse=True)
def tables(warehouse: Catalog) -> None:
    warehouse.create_database("shop")
    for name in ("a", "b"):
        warehouse.create_table(
            f"shop.{name}", SCHEMA, partition_by=("dt",), options={"bucket": "-1"}
        )


@pytest.fixture
def die(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "die"
    monkeypatch.setenv("DIE", str(path))
    return path


def put(warehouse: Catalog, name: str) -> None:
    write_rows(warehouse.table(f"shop.{name}"), pa.table({"id": [1], "dt": [name]}, schema=SCHEMA))


@pytest.mark.parametrize(
    "expand",
    [
        'PaimonWriteOperator.partial(sql=sql.format("true"), **how).expand(table=["shop.a", "shop.b"])',
        "PaimonWriteOperator.partial(**how).expand_kwargs("
        '[dict(table="shop.a", sql=sql.format("true")), dict(table="shop.b", sql=sql.format("true"))])',
        'PaimonWriteOperator.partial(table="shop.a", **how).expand(sql=[sql.format("true")] * 2)',
        'PaimonWriteOperator.partial(**how).expand(table=["shop.a", "shop.b"], '
        'sql=[sql.format("true"), sql.format("false")])',
    ],
)
def test_each_task_announces_its_own_table(
    airflow_home: Path, warehouse: Catalog, expand: str
) -> None:
    body = f"""
how = dict(task_id="load", engine="local")
sql = "SELECT CAST(1 AS BIGINT) AS id, 'x' AS dt WHERE {{}}"
{expand}
"""
    with of_dag(airflow_home, body) as runs:
        runs.create()
        assert set(runs.finish().values()) == {"success"}
        told = sorted(uri.rpartition("/")[2] for _, uri, _ in runs.events())
    assert told == (["a", "a"] if 'table="shop.a", **how' in expand else ["a", "b"])


def test_a_relay_and_a_report_can_be_mapped(airflow_home: Path, warehouse: Catalog) -> None:
    body = """
tables = ["shop.a", "shop.b"]
PaimonRelayPartitionsOperator.partial(task_id="relay").expand(table=tables)
PaimonChangeReportOperator.partial(
    task_id="report", label_column="dt", value_column="id").expand(table=tables)
"""
    with of_dag(airflow_home, body) as runs:
        put(warehouse, "a")
        runs.create("one")
        assert set(runs.finish("one").values()) == {"success"}
        for name in ("a", "b", "b"):
            put(warehouse, name)
        runs.create("two")
        assert set(runs.finish("two").values()) == {"success"}
        assert [runs.xcom("relay", "two", n) for n in (0, 1)] == [["dt=a"], ["dt=b"]]
        assert [runs.xcom("report", "two", n)["rows"] for n in (0, 1)] == [1, 2]
        assert sorted(uri.rpartition("/")[2] for _, uri, _ in runs.events("two")) == ["a", "b"]


def test_what_a_mapped_task_has_read_and_not_told_comes_again(
    airflow_home: Path, warehouse: Catalog, die: Path
) -> None:
    """Index 1 fails behind its work, index 0 does not."""
    body = """
tables = ["shop.a", "shop.b"]
RelayThatDies.partial(task_id="relay", retries=0).expand(table=tables)
ReportThatDies.partial(
    task_id="report", retries=0, label_column="dt", value_column="id").expand(table=tables)
"""
    with of_dag(airflow_home, body, head=DYING_LATE) as runs:
        runs.create("one")
        assert set(runs.finish("one").values()) == {"success"}
        for name in ("a", "b"):
            put(warehouse, name)
        die.touch()
        runs.create("two")
        found = runs.finish("two")
        assert [found[f"relay[{n}]"] for n in (0, 1)] == ["success", "failed"]
        assert [found[f"report[{n}]"] for n in (0, 1)] == ["success", "failed"]
        die.unlink()
        runs.create("three")
        assert set(runs.finish("three").values()) == {"success"}
        assert [runs.xcom("relay", "three", n) for n in (0, 1)] == [[], ["dt=b"]]
        assert [runs.xcom("report", "three", n)["rows"] for n in (0, 1)] == [0, 1]
