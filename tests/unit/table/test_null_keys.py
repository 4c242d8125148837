"""NULL in key columns, which ``primary-key.nullable`` allows: one more value, equal to itself, before all others."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import DataError
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([("a", pa.int32()), ("b", pa.string()), ("v", pa.string())])
FORMATS = ("parquet", "orc", "avro")


def make(schema: pa.Schema = SCHEMA, **options: str) -> tc.Table:
    given = {"primary-key.nullable": "true", "bucket": "2"}
    given |= {name.replace("__", ".").replace("_", "-"): text for name, text in options.items()}
    return new_catalog().create_table("d.t", schema, primary_key=["a", "b"], options=given)


def put(table: tc.Table, *rows: tuple[Any, ...]) -> None:
    columns = zip(*rows, strict=True)
    named = dict(zip(table.arrow_schema.names, columns, strict=True))
    write_rows(table, pa.table({n: list(c) for n, c in named.items()}, schema=table.arrow_schema))


def rows(table: tc.Table, **how: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(r.values()) for r in table.read(**how).to_arrow().to_pylist()), key=repr)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("thin", ["false", "true"])
@pytest.mark.parametrize("bucket", ["1", "2", "-1"])
def test_rows_with_null_keys_are_merged_compacted_and_found(
    format_: str, thin: str, bucket: str
) -> None:
    table = make(file__format=format_, data_file__thin_mode=thin, bucket=bucket)
    put(table, (None, "x", "1"), (1, None, "2"), (None, None, "3"), (1, "x", "4"))
    put(table, (None, None, "3b"), (1, None, "2b"), (2, "x", "5"))
    want = [(1, "x", "4"), (1, None, "2b"), (2, "x", "5"), (None, "x", "1"), (None, None, "3b")]
    assert rows(table) == sorted(want, key=repr)
    table.compact()
    assert rows(table) == sorted(want, key=repr)
    assert rows(table, where="a is null") == sorted(want[3:], key=repr)
    assert rows(table, where="a is null and b = 'x'") == [want[3]]
    assert rows(table, where="a = 1") == sorted(want[:2], key=repr)
    assert rows(table, where="b is not null and a < 2") == [want[0]]
    table.delete(where="a is null and b is null")
    table.update({"v": "'new'"}, where="b is null")
    assert rows(table) == sorted([want[0], (1, None, "new"), want[2], want[3]], key=repr)


@pytest.mark.parametrize("producer", ["input", "lookup", "full-compaction"])
def test_changes_of_null_keys_are_told_once(producer: str) -> None:
    table = make(bucket="1", changelog_producer=producer)
    put(table, (None, "x", "1"), (1, None, "2"))
    put(table, (None, "x", "1b"))
    if producer == "full-compaction":
        table.compact()
    assert rows(table) == [(1, None, "2"), (None, "x", "1b")]


@pytest.mark.parametrize("engine", ["partial-update", "aggregation", "first-row"])
def test_each_merge_engine_takes_null_for_a_key(engine: str) -> None:
    more = {"fields.v.aggregate-function": "max"} if engine == "aggregation" else {}
    table = new_catalog().create_table(
        "d.t",
        SCHEMA,
        primary_key=["a", "b"],
        options={"primary-key.nullable": "true", "bucket": "1", "merge-engine": engine, **more},
    )
    put(table, (None, "x", "1"), (None, "x", "2"), (0, "x", "3"))
    table.compact()
    put(table, (None, "x", "0"))
    table.compact()
    kept = {"partial-update": "0", "aggregation": "2", "first-row": "1"}[engine]
    assert rows(table) == [(0, "x", "3"), (None, "x", kept)]


def test_deletion_vectors_find_rows_with_null_keys() -> None:
    table = make(bucket="1", deletion_vectors__enabled="true")
    put(table, (None, "x", "1"), (1, None, "2"), (0, "", "3"))
    table.compact()
    put(table, (None, "x", "1b"), (1, None, "2b"))
    table.compact("minor")
    assert rows(table) == [(0, "", "3"), (1, None, "2b"), (None, "x", "1b")]


def test_a_merge_never_matches_null_with_null_and_an_upsert_does() -> None:
    table = make()
    put(table, (None, "x", "1"), (1, "x", "2"))
    source = pa.table({"a": [None, 1], "b": ["x", "x"], "v": ["n", "m"]}, schema=SCHEMA)
    table.merge_into(source, ["a", "b"], [tc.MatchedUpsert()])
    assert rows(table) == [(1, "x", "m"), (None, "x", "1")]
    put(table, (None, "x", "n"))
    assert rows(table) == [(1, "x", "m"), (None, "x", "n")]


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation"])
def test_a_partition_column_in_the_key_may_be_null_too(engine: str) -> None:
    table = new_catalog().create_table(
        "d.t",
        SCHEMA,
        primary_key=["a", "b"],
        partition_by=["b"],
        options={"primary-key.nullable": "true", "bucket": "1", "merge-engine": engine},
    )
    put(table, (None, None, "1"), (1, None, "2"), (None, "x", "3"))
    put(table, (None, None, "1b"))
    table.compact()
    assert rows(table) == [(1, None, "2"), (None, "x", "3"), (None, None, "1b")]


def test_without_the_option_a_null_key_is_refused_by_its_column() -> None:
    table = new_catalog().create_table("d.t", SCHEMA, primary_key=["a"], options={"bucket": "1"})
    with pytest.raises(DataError, match="'a' is NOT NULL"):
        put(table, (None, "x", "y"))
