"""Goal: what ``catalog.sql`` answers is what Spark answers, row by row, type by type, in the order that ORDER BY says."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.jobs.flow import views_of
from table_core.spark.engine import SparkEngine
from table_core.table.api.sql import queries
from tests.common_sql import MORE, ROWS
from tests.lanes import sampled
from tests.sql.conftest import rows_here
from tests.sql_corpus import ANSWERED, REFUSED_OR_SAME, TABLES
from tests.tables import write_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("t", "u", "l", "r", "m")
NESTED = pa.table(
    {
        "n": pa.array([1, 2, None, 4], pa.int32()),
        "who": pa.array(
            [{"n": 1.5, "name": "a"}, {"n": 2.25, "name": None}, None, {"n": None, "name": "d"}],
            pa.struct([("n", pa.float64()), ("name", pa.string())]),
        ),
        "code": ["a", "abc", None, "b"],
        "tags": pa.array([[1, None], [1, 2], None, []], pa.list_(pa.int32())),
        "bytes": pa.array([b"\xff", b"\x01", None, b""], pa.binary()),
    }
)
PER_TEST = 10


def tables(catalog: tc.Catalog) -> dict[str, Any]:
    for name, rows in (("t", ROWS), ("u", MORE)):
        table = catalog.create_table(f"d.{name}", rows.schema)
        write_rows(table, rows)
    for _ in catalog.sql_session().script(TABLES):
        pass
    write_rows(catalog.table("d.m"), NESTED)
    return views_of(catalog, {name: {"table": f"d.{name}"} for name in NAMES})


def by_spark(spark: SparkSession, sources: dict[str, Any], sql: str) -> pa.Table:
    return (
        SparkEngine(spark)
        .query(re.sub(rf"\bd\.({'|'.join(NAMES)})\b", r"\1", sql), sources)
        .toArrow()
    )


def type_of(type_: pa.DataType) -> str:
    """A decimal's precision is not compared: the page of SQL says that it may be another."""
    if pa.types.is_decimal(type_):
        return "decimal"
    if pa.types.is_timestamp(type_):
        return f"timestamp {type_.tz and 'zone'}"
    if pa.types.is_list(type_):
        return f"list of {type_.value_type}"
    return str(type_).replace("large_", "")


def rows_of(rows: pa.Table, *, ordered: bool) -> list[tuple[str, ...]]:
    def text(value: Any) -> str:
        if isinstance(value, Decimal):
            return str(value.normalize())
        if isinstance(value, float):
            return repr(value + 0.0)
        return str(value.replace(tzinfo=None)) if hasattr(value, "tzinfo") else repr(value)

    found = list(zip(*(map(text, column.to_pylist()) for column in rows.columns), strict=True))
    return found if ordered else sorted(found)


def difference(ours: pa.Table, theirs: pa.Table, sql: str) -> str:
    ordered = "ORDER BY" in re.sub(r"\(.*\)", "", sql, flags=re.DOTALL)
    pairs = [
        (ours.column_names, theirs.column_names),
        ([type_of(f.type) for f in ours.schema], [type_of(f.type) for f in theirs.schema]),
        (rows_of(ours, ordered=ordered), rows_of(theirs, ordered=ordered)),
    ]
    return "".join(
        f"{sql}\n  here  {here}\n  Spark {there}\n" for here, there in pairs if here != there
    )


def parts(statements: list[str]) -> list[list[str]]:
    return [statements[at : at + PER_TEST] for at in range(0, len(statements), PER_TEST)]


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "rows_of", rows_here)


@pytest.mark.parametrize("statements", sampled(parts(ANSWERED), 10))
def test_what_is_answered_is_answered_as_by_spark(
    spark: SparkSession, catalog: tc.Catalog, statements: list[str]
) -> None:
    sources = tables(catalog)
    wrong = ""
    for sql in statements:
        wrong += difference(catalog.sql(sql).to_arrow(), by_spark(spark, sources, sql), sql)
    assert not wrong, wrong


@pytest.mark.parametrize("statements", sampled(parts(REFUSED_OR_SAME), 10))
def test_all_else_is_refused_or_the_same(
    spark: SparkSession, catalog: tc.Catalog, statements: list[str]
) -> None:
    import duckdb

    sources = tables(catalog)
    wrong = ""
    for sql in statements:
        try:
            ours = catalog.sql(sql).to_arrow()
        except (tc.errors.TableError, duckdb.Error):
            continue
        try:
            theirs = by_spark(spark, sources, sql)
        except Exception as error:
            wrong += f"{sql}\n  here  {ours.to_pylist()}\n  Spark {str(error)[:200]}\n"
            continue
        wrong += difference(ours, theirs, sql)
    assert not wrong, wrong
