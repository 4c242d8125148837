"""Goal: a job on Spark says the same as the embedded engine, and a broken one commits nothing.

Method: jobs through ``SparkEngine`` in this session; the same spec embedded is the oracle.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core import errors
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded, run_job
from table_core.spark.engine import SparkEngine
from tests.tables import write_rows

DUE = "WITH due AS (SELECT order_id, customer, n FROM orders UNION ALL SELECT * FROM waiting)"
SALES = (
    f"{DUE} SELECT country, sum(n) AS n FROM due JOIN customers ON id = customer GROUP BY country"
)
WAITING = f"{DUE} SELECT * FROM due WHERE NOT EXISTS (SELECT 1 FROM customers WHERE id = customer)"
FLOW: dict[str, Any] = {
    "sql": SALES,
    "sources": {
        "orders": {"table": "d.orders", "mode": "changes"},
        "customers": {"table": "d.customers"},
    },
    "pending": {"table": "d.waiting", "sql": WAITING},
}


@pytest.fixture
def shop(catalog: tc.Catalog) -> tc.Catalog:
    order = pa.schema([("order_id", pa.int64()), ("customer", pa.int64()), ("n", pa.int64())])
    plain = {"options": {"bucket": "-1"}}
    catalog.create_table("d.orders", order, **plain)
    catalog.create_table("d.waiting", order, **plain)
    customer = pa.schema([pa.field("id", pa.int64(), nullable=False), ("country", pa.string())])
    catalog.create_table("d.customers", customer, primary_key=("id",), options={"bucket": "1"})
    sales = pa.schema([pa.field("country", pa.string(), nullable=False), ("n", pa.int64())])
    options = {"bucket": "1", "merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}
    options["aggregation.remove-record-on-delete"] = "true"
    catalog.create_table("d.sales", sales, primary_key=("country",), options=options)
    return catalog


def put(catalog: tc.Catalog, table: str, rows: list[dict[str, Any]]) -> None:
    write_rows(catalog.table(table), pa.Table.from_pylist(rows))


def rows_of(catalog: tc.Catalog, table: str) -> list[tuple[Any, ...]]:
    rows = catalog.table(table).read().to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def run(catalog: tc.Catalog, spark: Any, action: str, table: str, **members: Any) -> dict[str, Any]:
    spec = JobSpec(action=action, warehouse=catalog.storage.uri, table=table, **members)
    return run_job(JobSpec.from_json(spec.to_json()), SparkEngine(spark))


def test_a_flow_counts_each_order_once_and_forgets_none(spark: Any, shop: tc.Catalog) -> None:
    put(shop, "d.customers", [{"id": 1, "country": "de"}])
    put(
        shop,
        "d.orders",
        [{"order_id": 1, "customer": 1, "n": 5}, {"order_id": 2, "customer": 2, "n": 7}],
    )
    result = run(shop, spark, "write", "d.sales", args=FLOW, commit_user="run", commit_identifier=0)
    assert rows_of(shop, "d.sales") == [("de", 5)]
    assert rows_of(shop, "d.waiting") == [(2, 2, 7)]
    assert result["details"]["pending_rows"] == 1
    again = run(shop, spark, "write", "d.sales", args=FLOW, commit_user="run", commit_identifier=0)
    assert again["details"]["replayed"]
    put(shop, "d.customers", [{"id": 2, "country": "fr"}])
    put(shop, "d.orders", [{"order_id": 3, "customer": 1, "n": 1}])
    run(shop, spark, "write", "d.sales", args=FLOW, commit_user="run", commit_identifier=1)
    assert rows_of(shop, "d.sales") == [("de", 6), ("fr", 7)]
    assert rows_of(shop, "d.waiting") == []
    idle = run(shop, spark, "write", "d.sales", args=FLOW, commit_user="run", commit_identifier=2)
    assert rows_of(shop, "d.sales") == [("de", 6), ("fr", 7)]
    assert not idle["details"]["replayed"]


def test_merge_into_takes_its_source_from_sql(spark: Any, shop: tc.Catalog) -> None:
    put(shop, "d.customers", [{"id": 1, "country": "de"}, {"id": 2, "country": "fr"}])
    put(shop, "d.sales", [{"country": "de", "n": 5}, {"country": "us", "n": 9}])
    source = {
        "sql": "SELECT DISTINCT country FROM customers",
        "sources": {"customers": {"table": "d.customers"}},
    }
    when = [
        {"action": "not-matched-insert", "values": {"country": "source.country", "n": "0"}},
        {"action": "matched-delete", "condition": "target.n > 100"},
    ]
    args = {"source": source, "on": ["country"], "when": when}
    run(shop, spark, "merge-into", "d.sales", args=args)
    assert rows_of(shop, "d.sales") == [("de", 5), ("fr", 0), ("us", 9)]


def test_merge_into_takes_a_table_or_the_folder_of_one(spark: Any, shop: tc.Catalog) -> None:
    put(shop, "d.customers", [{"id": 1, "country": "de"}, {"id": 2, "country": "fr"}])
    put(shop, "d.waiting", [{"order_id": n, "customer": n, "n": 5} for n in (1, 2, 3)])
    folder = shop.table("d.customers").uri
    for source, gone, left in (
        ({"table": "d.customers"}, 1, [(2, 2, 5), (3, 3, 5)]),
        ({"path": folder}, 2, [(3, 3, 5)]),
    ):
        when = [{"action": "matched-delete", "condition": f"source.id = {gone}"}]
        args = {"source": source, "on": {"customer": "id"}, "when": when}
        run(shop, spark, "merge-into", "d.waiting", args=args)
        assert rows_of(shop, "d.waiting") == left


@pytest.mark.parametrize(
    "sql",
    [
        "SELEC 1",
        "SELECT nothing FROM customers",
        "SELECT * FROM absent",
        "SELECT id FROM customers x JOIN",
    ],
)
def test_bad_sql_is_invalid(spark: Any, shop: tc.Catalog, sql: str) -> None:
    put(shop, "d.customers", [{"id": 1, "country": "de"}])
    args = {"sql": sql, "sources": {"customers": {"table": "d.customers"}}}
    with pytest.raises(errors.ArgumentError) as caught:
        run(shop, spark, "write", "d.sales", args=args)
    assert caught.value.kind is errors.ErrorKind.INVALID


def test_values_are_bound_and_variables_of_the_driver_stay_there(
    spark: Any, shop: tc.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(shop, "d.customers", [{"id": 1, "country": "de"}, {"id": 2, "country": "o'x"}])
    args = {
        "sql": "SELECT '${env:PATH}$c' AS country, id AS n FROM customers WHERE country = $c -- $c",
        "sources": {"customers": {"table": "d.customers"}},
        "parameters": {"c": "o'x"},
    }
    run(shop, spark, "write", "d.sales", args=args)
    assert shop.table("d.sales").read().to_arrow().to_pylist() == [
        {"country": "${env:PATH}$c", "n": 2}
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT value AS country, 1L AS n FROM text.`/etc/hostname`",
        "SELECT reflect('java.lang.System', 'getenv', 'PATH') AS country, 1L AS n",
        "INSERT OVERWRITE DIRECTORY '/tmp/never-made-by-a-query' USING csv SELECT 1",
    ],
)
def test_sql_on_spark_reads_its_views_and_nothing_else(
    spark: Any, shop: tc.Catalog, sql: str
) -> None:
    with pytest.raises(errors.ArgumentError, match="one query over its sources"):
        run(shop, spark, "write", "d.sales", args={"sql": sql, "sources": {}})
    source = {"table": "d.sales"}
    when = [
        {
            "action": "not-matched-insert",
            "values": {"country": "(SELECT max(value) FROM text.`/etc/hostname`)"},
        }
    ]
    with pytest.raises(errors.ArgumentError, match="one query over its sources"):
        run(
            shop,
            spark,
            "merge-into",
            "d.sales",
            args={"source": source, "on": ["country"], "when": when},
        )
    assert shop.table("d.sales").latest_snapshot() is None


def test_a_value_that_spark_cannot_compute_is_invalid(spark: Any, shop: tc.Catalog) -> None:
    put(shop, "d.customers", [{"id": 1, "country": "de"}])
    args = {
        "sql": "SELECT country, CAST(country AS BIGINT) AS n FROM customers",
        "sources": {"customers": {"table": "d.customers"}},
    }
    with pytest.raises(errors.DataError, match="CAST_INVALID_INPUT"):
        run(shop, spark, "write", "d.sales", args=args)
    assert shop.table("d.sales").latest_snapshot() is None


def test_a_corrupt_file_keeps_its_kind_through_spark(
    spark: Any, shop: tc.Catalog, tmp_path: Any
) -> None:
    put(shop, "d.orders", [{"order_id": 1, "customer": 1, "n": 5}])
    [file] = tmp_path.glob("**/orders/**/data-*")
    file.write_bytes(b"PAR1 no")
    args = {
        "sql": "SELECT 'x' country, n FROM orders",
        "sources": {"orders": {"table": "d.orders"}},
    }
    with pytest.raises(errors.TableError) as caught:
        run(shop, spark, "write", "d.sales", args=args)
    assert caught.value.kind is errors.ErrorKind.CORRUPT
    assert shop.table("d.sales").latest_snapshot() is None


def test_a_source_without_snapshots_is_empty(spark: Any, shop: tc.Catalog) -> None:
    put(shop, "d.orders", [{"order_id": 1, "customer": 1, "n": 5}])
    run(shop, spark, "write", "d.sales", args=FLOW)
    assert rows_of(shop, "d.sales") == []
    assert rows_of(shop, "d.waiting") == [(1, 1, 5)]


def test_compact_covers_what_it_is_told(spark: Any, shop: tc.Catalog) -> None:
    for n in range(3):
        put(shop, "d.customers", [{"id": n, "country": "de"}])
    result = run(shop, spark, "compact", "d.customers", args={"strategy": "full"})
    assert result["files_after"] == 1
    dry = run(shop, spark, "compact", "d.customers", args={"strategy": "full", "dry_run": True})
    assert dry["dry_run"]
    with pytest.raises(errors.ArgumentError):
        run(shop, spark, "compact", "d.customers", args={"strategy": "some"})


def test_computed_columns_are_those_of_the_embedded_engine(spark: Any, catalog: tc.Catalog) -> None:
    """Each function, of each type that it takes; the table is dealt out by a computed column."""
    functions = {
        **{f"{part}_at": (f"{part}(at)", "INT") for part in ("year", "month", "day", "hour")},
        "second_zoned": ("second(zoned)", "INT"),
        "minute_text": ("minute(text)", "INT"),
        "day_date": ("day(d)", "BIGINT"),
        "year_n": ("year(n, 3)", "INT"),
        "f": ("date_format(at, yyyy-MM-dd HH:mm:ss.SSS)", "STRING"),
        "s": ("substring(Name, 1)", "STRING"),
        "t": ("truncate(n, 7)", "BIGINT"),
        "m": ("truncate(money, 50)", "DECIMAL(9, 2)"),
        "u": ("upper(Name)", "STRING"),
        "l": ("lower(Name)", "STRING"),
        "r": ("trim(Name)", "STRING"),
        "c": ("cast(2.50, DECIMAL(9, 2))", "DECIMAL(9, 2)"),
        "lacks": ("upper(missing)", "STRING"),
    }
    columns = {
        "id": "BIGINT NOT NULL",
        "at": "TIMESTAMP(6)",
        "zoned": "TIMESTAMP_LTZ(6)",
        "d": "DATE",
    }
    columns |= {"text": "STRING", "n": "BIGINT", "money": "DECIMAL(9, 2)", "Name": "STRING"}
    columns |= {"missing": "STRING", **{name: kind for name, (_, kind) in functions.items()}}
    columns["t"] = "BIGINT NOT NULL"
    sql = (
        "SELECT CAST(id AS INT) AS id, CAST('1969-12-31 23:59:59.5' AS TIMESTAMP_NTZ) AS at, "
        "TIMESTAMP '2024-02-29 22:30:59Z' AS zoned, DATE '1582-10-15' AS d, '2026-05-04T03:02:01Z' AS text, "
        "id * 100000007 - 5 AS n, CAST(id - 20.37 AS DECIMAL(9, 2)) AS money, "
        "CASE WHEN id % 3 = 0 THEN NULL ELSE concat(' straße ÄÖ ', id) END AS NAME, NULL AS missing "
        "FROM source"
    )
    catalog.create_table("d.source", pa.schema([("id", pa.int64())]), options={"bucket": "-1"})
    put(catalog, "d.source", [{"id": n} for n in range(50)])
    args: dict[str, Any] = {
        "sources": {"source": {"table": "d.source"}},
        "computed_columns": [f"{name}={text}" for name, (text, _) in functions.items()],
    }
    tables = ("d.on_spark", "d.embedded")
    for name in tables:
        made = {
            "columns": columns,
            "primary_key": ["id", "t"],
            "options": {"bucket": "3", "bucket-key": "t"},
        }
        run(catalog, spark, "create-table", name, args=made)
    done = run(catalog, spark, "write", tables[0], args={**args, "sql": sql})
    assert done["rows_written"] == 50
    ours = sql.replace("TIMESTAMP_NTZ", "TIMESTAMP").replace("TIMESTAMP '2024", "TIMESTAMPTZ '2024")
    spec = JobSpec(
        action="write",
        warehouse=catalog.storage.uri,
        table=tables[1],
        args={**args, "sql": ours.replace("AS NAME", 'AS "Name"')},
    )
    run_embedded(spec)
    found = [catalog.table(name).read().to_arrow().sort_by("id") for name in tables]
    assert found[0].equals(found[1])
    assert found[0].column("t").to_pylist() == [(n * 100000007 - 5) // 7 * 7 for n in range(50)]
    files = [catalog.table(f"{name}$files").read().to_arrow() for name in tables]
    counts = [f.select(["bucket", "record_count"]).sort_by("bucket") for f in files]
    assert counts[0].equals(counts[1])
    again = {
        "sql": "SELECT CAST(1 AS BIGINT) AS id, 'x' AS U",
        "computed_columns": ["u=upper(Name)"],
    }
    with pytest.raises(errors.DataError, match="'u' is computed, and the rows have it too"):
        run(catalog, spark, "write", tables[0], args=again)
