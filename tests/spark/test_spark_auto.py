"""``engine="auto"`` may use either engine: the same answers, and one commit however the attempts are spread."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from table_core.jobs.embedded import EmbeddedEngine
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_job
from table_core.spark.engine import SparkEngine
from table_core.sql.common_sql import why_only_spark
from tests.common_sql import MORE, ROWS, SAME
from tests.lanes import sampled
from tests.tables import write_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import table_core as tc

VALUES = {"id": 7, "name": "a\u0301"}


def views(catalog: tc.Catalog) -> dict[str, Any]:
    from table_core.jobs.flow import views_of

    for name, rows in (("t", ROWS), ("u", MORE)):
        table = catalog.create_table(f"d.{name}", rows.schema)
        write_rows(table, rows)
    return views_of(catalog, {name: {"table": f"d.{name}"} for name in ("t", "u")})


def shown(rows: pa.Table) -> list[tuple[str, ...]]:
    """Rows in any order; a decimal by its value, a zero without its sign, as GROUP BY may choose either."""

    def text(value: Any) -> str:
        if isinstance(value, Decimal):
            return str(value.normalize())
        if isinstance(value, float):
            return repr(value + 0.0)
        return str(value.replace(tzinfo=None)) if isinstance(value, dt.datetime) else repr(value)

    return sorted(tuple(map(text, row.values())) for row in rows.to_pylist())


def test_what_the_list_allows_is_the_same_on_both_engines(
    spark: SparkSession, catalog: tc.Catalog
) -> None:
    sources = views(catalog)
    fields = sources["t"].table.access.schema.fields
    for sql in SAME:
        assert why_only_spark(sql, fields, VALUES) == "", sql
        used = {"parameters": VALUES} if "$" in sql else {}
        here = EmbeddedEngine().query(sql, sources, **used)
        there = SparkEngine(spark).query(sql, sources, **used).toArrow()
        assert shown(here) == shown(there), sql


KEYED = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())])
JOBS: dict[str, dict[str, Any]] = {
    "compact": {"strategy": "full"},
    "delete": {"where": "id < 3"},
    "update": {"values": {"n": "n + 1"}, "where": "id < 3"},
    "analyze": {},
    "write": {"sql": "SELECT id, n FROM s", "sources": {"s": {"table": "d.s"}}, "task": "x"},
    "merge-into": {
        "source": {"sql": "SELECT id, n FROM s", "sources": {"s": {"table": "d.s"}}},
        "on": ["id"],
        "when": [{"action": "matched-upsert"}, {"action": "not-matched-insert"}],
    },
    "rescale": {"buckets": 2},
}
SAID = ("action", "table", "snapshot_before", "snapshot_after", "files_after", "rows_written")


@pytest.mark.parametrize(("action", "first"), sampled(product(JOBS, ("local", "spark")), 3))
def test_a_retry_on_the_other_engine_finds_the_commit(
    spark: SparkSession, catalog: tc.Catalog, action: str, first: str
) -> None:
    for name in ("t", "s"):
        table = catalog.create_table(
            f"d.{name}", KEYED, primary_key=("id",), options={"bucket": "1", "write-only": "true"}
        )
        for start in (0, 3):
            with table.write() as writer:
                rows = pa.table({"id": range(start, start + 5), "n": range(5)}, schema=KEYED)
                writer.write(rows)
                writer.commit()
    spec = JobSpec(
        action=action,
        warehouse=catalog.warehouse,
        table="d.t",
        args=JOBS[action],
        commit_user="attempts",
        commit_identifier=0,
    )
    engines: list[Any] = [EmbeddedEngine(), SparkEngine(spark)]
    if first == "spark":
        engines.reverse()
    done = run_job(spec, engines[0])
    rows = catalog.table("d.t").read().to_arrow().sort_by("id")
    ids = [s.id for s in catalog.table("d.t").snapshots()]
    again = run_job(spec, engines[1])
    assert [s.id for s in catalog.table("d.t").snapshots()] == ids, "committed twice"
    assert again["details"]["replayed"] is True
    assert not done["details"]["replayed"]
    assert {name: done.get(name) for name in SAID} == {name: again.get(name) for name in SAID}
    assert catalog.table("d.t").read().to_arrow().sort_by("id").equals(rows)
