"""What Apache Paimon shows of a snapshot that a rollback should have taken: a writer of ours was killed before its look.

``docs/two-writers.md`` says what is measured here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from judge import Judge

import table_core as tc
from table_core.ondisk import layout
from tests.tables import write_rows

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])


def put(table: Any, key: int) -> None:
    write_rows(table, pa.table({"k": [key], "v": [key]}, schema=SCHEMA))


def ours(catalog: Any) -> list[int]:
    return sorted(catalog.table("default.t").read().to_arrow()["k"].to_pylist())


def test_paimon_shows_a_stray_of_ours_until_its_number_is_needed(
    paimon: Judge, tmp_path: Path
) -> None:
    catalog = tc.open_catalog(tmp_path.as_uri())
    catalog.create_database("default")
    options = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("default.t", SCHEMA, primary_key=("k",), options=options)
    for key in range(1, 7):
        put(table, key)
    storage, path = table.access.storage, layout.snapshot_path(6)
    body = storage.read(path)
    theirs = paimon.table(tmp_path, "default.t")

    def paimons() -> list[int]:
        return sorted(row[1] for row in theirs.read())

    assert paimons() == [1, 2, 3, 4, 5, 6], "the member that we add does not disturb it"
    table.rollback_to(snapshot=3)
    storage.write(path, body)
    assert (ours(catalog), paimons()) == ([1, 2, 3], [1, 2, 3]), "behind a gap nobody looks for it"
    put(catalog.table("default.t"), 14)
    put(catalog.table("default.t"), 15)
    assert ours(catalog) == [1, 2, 3, 14, 15]
    assert paimons() == [1, 2, 3, 4, 5, 6], "next to the newest one, it is the newest for Paimon"
    put(catalog.table("default.t"), 16)
    assert ours(catalog) == paimons() == [1, 2, 3, 14, 15, 16]
    theirs.write([["+I", 17, 17]])
    assert ours(catalog) == paimons() == [1, 2, 3, 14, 15, 16, 17]


@pytest.mark.parametrize("first", ["the tag goes", "another tag stays"])
def test_what_paimons_rollback_brings_back_by_name_outlives_our_expiry(
    first: str, paimon: Judge, tmp_path: Path
) -> None:
    catalog = tc.open_catalog(tmp_path.as_uri())
    catalog.create_database("default")
    options = {"bucket": "1", "snapshot.num-retained.min": "100"}
    table = catalog.create_table("default.t", SCHEMA, primary_key=("k",), options=options)
    put(table, 1)
    put(table, 2)
    table.tags.create("good")
    table.compact()  # takes out both files
    table.tags.create("daily")
    put(table, 3)
    theirs = paimon.table(tmp_path, "default.t")
    theirs.keep("rollback_as_latest", name="good")  # brings both back, by their names

    def all_there(**which: Any) -> list[int]:
        seen = sorted(catalog.table("default.t").read(**which).to_arrow()["k"].to_pylist())
        assert sorted(row[1] for row in theirs.read()) == ours(catalog)
        return seen

    assert all_there() == [1, 2]
    if first == "the tag goes":
        catalog.table("default.t").delete_tags(["good"])
    else:
        catalog.table("default.t").compact()  # takes both out again, and "daily" lies in between
    put(catalog.table("default.t"), 4)
    catalog.table("default.t").expire_snapshots(retain_max=1, retain_min=1)
    assert all_there() == [1, 2, 4]
    assert all_there(tag="daily") == [1, 2]
    if first == "another tag stays":
        assert all_there(tag="good") == [1, 2]
    for tag in sorted(catalog.table("default.t").tags):
        catalog.table("default.t").delete_tags([tag])
        assert all_there() == [1, 2, 4]
