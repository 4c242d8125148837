"""Goal: what a read, an overwrite or an option would leave out, or could not find, is an error that names it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import ArgumentError, SchemaError, UnsupportedFeatureError
from tests.tables import new_catalog, write_rows
from tests.upstream.play import Shape

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
ROWS = pa.table({"k": [1], "v": [1]}, schema=SCHEMA)


def table(**options: str) -> tc.Table:
    catalog = new_catalog()
    made = catalog.create_table(
        "d.t", SCHEMA, primary_key=("k",), options={"bucket": "1", **options}
    )
    write_rows(made, ROWS)
    return catalog.table("d.t")


WAITING = {"bucket": "-2", "postpone.merge-on-read": "true"}


def test_rows_that_wait_are_not_silently_left_out() -> None:
    waiting = table(**WAITING)
    for read in (
        lambda: waiting.read().to_arrow(),
        lambda: waiting.read(where="k = 7").to_arrow(),
        lambda: waiting.read(columns=["k"], limit=1).to_arrow(),
    ):
        with pytest.raises(UnsupportedFeatureError, match="rows wait for a bucket"):
            read()
    waiting.compact()
    assert waiting.read().to_arrow() == ROWS
    write_rows(waiting, pa.table({"k": [1], "v": [2]}, schema=SCHEMA))
    with pytest.raises(UnsupportedFeatureError, match="rows wait for a bucket"):
        waiting.read(where="k = 1").to_arrow()


def test_without_the_option_rows_that_wait_are_left_out() -> None:
    assert table(bucket="-2").read().to_arrow().num_rows == 0


def test_rows_beside_the_overwritten_partition_are_named() -> None:
    catalog = new_catalog()
    columns = {"k": [1], "p": ["elsewhere"]}
    made = catalog.create_table("d.t", pa.table(columns).schema, partition_by=("p",))
    with made.write(overwrite={"p": "x"}) as writer:
        writer.write(pa.table(columns))
        with pytest.raises(ArgumentError, match="elsewhere"):
            writer.commit()


def test_consumers_are_listed_by_name(tmp_path: Any) -> None:
    made = new_catalog(tmp_path.as_uri()).create_table("d.t", SCHEMA)
    write_rows(made, ROWS)
    for name in ("c", "a", "b"):
        made.consumers.reset(name, 1)
    assert list(made.consumers.list()) == ["a", "b", "c"]


NESTED = "ARRAY<ROW<a INT, b INT>>"


@pytest.mark.parametrize(
    ("function", "type_", "options", "words"),
    [
        ("nested_update", NESTED, {"nested-key": "x"}, "no member 'x'"),
        ("nested_update", NESTED, {"nested-sequence-field": "b"}, "needs fields.v.nested-key"),
        ("nested_update", NESTED, {"nested-key-null-strategy": "merge"}, "needs fields.v.nested-key"),
        ("nested_partial_update", NESTED, {}, "nested_partial_update needs it"),
        ("nested_partial_update", NESTED, {"nested-key": "a,y"}, "no member 'y'"),
        ("merge_map_with_keytime", "MAP<STRING, ROW<a INT, t STRING>>", {"ts-field": "z"}, "no member 'z'"),
    ],
)  # fmt: skip
def test_members_that_a_function_cannot_find_are_refused_at_creation(
    function: str, type_: str, options: dict[str, str], words: str
) -> None:
    fields = Shape(f"k INT, v {type_}").fields
    own = {f"fields.v.{key}": value for key, value in options.items()}
    named = {"merge-engine": "aggregation", "fields.v.aggregate-function": function, **own}
    with pytest.raises(SchemaError, match=words):
        new_catalog().create_table(
            "d.t", fields, primary_key=("k",), options={"bucket": "1", **named}
        )
