"""Options for Apache Paimon's own engine are taken, checked, and change nothing here."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from table_core.errors import OptionError
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int32())])


def made(**options: str) -> Any:
    catalog = new_catalog()
    named = {key.replace("__", ".").replace("_", "-"): text for key, text in options.items()}
    return catalog.create_table(
        "d.t", SCHEMA, primary_key=("id",), options={"bucket": "1", **named}
    )


def test_they_are_stored_and_what_cannot_be_is_refused() -> None:
    table = made(sort_spill_buffer_size="32 mb", lookup__merge_buffer_size="4 mb")
    assert table.options["sort-spill-buffer-size"] == "32 mb"
    with pytest.raises(OptionError, match="sort-engine"):
        made(sort_engine="bubble")


@pytest.mark.parametrize(
    ("options", "buckets"),
    [
        ({"postpone__target_row_num_per_bucket": "30"}, 4),
        ({"postpone__target_size_per_bucket": "1 gb"}, 1),
        ({"postpone__default_bucket_num": "2"}, 2),
    ],
)
def test_a_postponed_partition_gets_buckets_by_its_rows(
    options: dict[str, str], buckets: int
) -> None:
    table = made(bucket="-2", **options)
    write_rows(table, pa.table({"id": range(100), "v": [1] * 100}, schema=SCHEMA))
    table.compact()
    entries = table.access.live_entries(table.latest_snapshot())
    assert {entry.total_buckets for entry in entries} == {buckets}
    assert table.read().to_arrow().num_rows == 100
