"""System tables of one state show the state that options or arguments name."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("p", pa.string()), ("v", pa.int64())])


@pytest.fixture
def catalog() -> tc.Catalog:
    made = new_catalog()
    table = made.create_table("d.t", SCHEMA, partition_by=["p"])
    for partition in "abc":
        write_rows(table, pa.table({"p": [partition], "v": [1]}, schema=SCHEMA))
    table.tags.create("second", snapshot=2)
    return made


@pytest.mark.parametrize("name", ["files", "partitions", "buckets", "file_key_ranges"])
@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"scan.snapshot-id": "2"}, {"snapshot": 2}),
        ({"scan.tag-name": "second"}, {"tag": "second"}),
        ({"scan.version": "second"}, {"tag": "second"}),
    ],
)
def test_an_older_state_has_fewer_files(
    catalog: tc.Catalog, name: str, options: dict[str, str], argument: dict[str, Any]
) -> None:
    assert catalog.table(f"d.t${name}").read().to_arrow().num_rows == 3
    assert catalog.table(f"d.t${name}", options=options).read().to_arrow().num_rows == 2
    assert catalog.table(f"d.t${name}").read(**argument).to_arrow().num_rows == 2


def test_manifests_are_those_of_the_state(catalog: tc.Catalog) -> None:
    at_two = catalog.table("d.t$manifests").read(snapshot=2).to_arrow()
    assert at_two.num_rows < catalog.table("d.t$manifests").read().to_arrow().num_rows


def test_a_range_of_digits_is_of_tags_where_both_are_tags() -> None:
    table = new_catalog().create_table("d.t", pa.schema([("v", pa.int64())]))
    for value in (1, 2, 3):
        write_rows(table, pa.table({"v": [value]}))
    table.tags.create("1", snapshot=1)
    table.tags.create("3", snapshot=2)
    table.tags.create("20241201", snapshot=3)

    def between(ends: str) -> list[int]:
        handle = tc.open_table(table.uri, options={"incremental-between": ends})
        return sorted(handle.read().to_arrow()["v"].to_pylist())

    assert between("1,3") == [2]
    assert between("1,20241201") == [2, 3]
    assert between("0,2") == [1, 2]
