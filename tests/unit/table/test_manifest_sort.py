"""``manifest-sort.enabled``: a full merge of manifests leaves entries of one partition side by side."""

from __future__ import annotations

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import SchemaError
from table_core.ondisk.layout import partition_text
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([("dt", pa.string()), ("shop", pa.int32()), ("v", pa.int64())])
ALWAYS = {"manifest.full-compaction-threshold-size": "1 b", "manifest-sort.enabled": "true"}
ROWS = [("c", 2, 1), ("a", 10, 2), (None, 1, 3), ("b", 2, 4), ("a", 9, 5)]


def made(**options: str) -> tc.Table:
    catalog = new_catalog()
    table = catalog.create_table(
        "d.t", SCHEMA, partition_by=("dt", "shop"), options={**ALWAYS, **options}
    )
    for dt, shop, v in [*ROWS, ("z", 0, 6)]:  # the last commit merges those before it
        write_rows(table, pa.table({"dt": [dt], "shop": [shop], "v": [v]}, schema=SCHEMA))
    return table


def partitions_in_base(table: tc.Table) -> list[tuple[str, str]]:
    metadata, head = table.access.metadata, table.access.metadata.head()
    assert head is not None
    entries = [
        entry
        for meta in metadata.manifest_list(head.base_manifest_list)
        for entry in metadata.entries([meta])
    ]
    texts = (partition_text(table.definition, entry.partition) for entry in entries)
    return [(text["dt"], text["shop"]) for text in texts]


def test_entries_are_in_the_order_of_partition_values() -> None:
    table = made()
    default = "__DEFAULT_PARTITION__"
    in_order = [(default, "1"), ("a", "9"), ("a", "10"), ("b", "2"), ("c", "2")]
    assert partitions_in_base(table) == in_order
    assert sorted(table.read().to_arrow()["v"].to_pylist()) == [1, 2, 3, 4, 5, 6]


def test_one_column_may_come_first() -> None:
    table = made(**{"manifest-sort.partition-field": "shop"})
    assert [shop for _, shop in partitions_in_base(table)] == ["1", "2", "2", "9", "10"]


def test_a_column_that_is_no_partition_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"partition-field 'v' is no.*\['dt', 'shop'\]"):
        made(**{"manifest-sort.partition-field": "v"})
