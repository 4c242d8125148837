"""``scan.partitions``: reads and lookups see the named or the newest partitions, and nothing else changes."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import OptionError, UnsupportedFeatureError
from tests.tables import new_catalog, rows_of, write_rows

DAY = dt.date(2026, 1, 9)
NEXT = dt.date(2026, 1, 10)
SCHEMA = pa.schema([("dt", pa.date32()), ("hh", pa.int32()), ("id", pa.int64())])


def chosen(text: str, *, key: bool = False, **reading: str) -> Any:
    """A table of five partitions, and a handle that reads some of them."""
    catalog = new_catalog()
    schema = SCHEMA if not key else pa.schema([field.with_nullable(False) for field in SCHEMA])
    kind = {"primary_key": ("dt", "hh", "id")} if key else {}
    options = {"bucket": "1" if key else "-1"}
    made = catalog.create_table("d.t", schema, partition_by=("dt", "hh"), options=options, **kind)
    rows = {"dt": [DAY, DAY, NEXT, NEXT], "hh": [9, 10, 9, 10], "id": [1, 2, 3, 4]}
    if not key:
        rows = {"dt": [*rows["dt"], None], "hh": [*rows["hh"], None], "id": [*rows["id"], 5]}
    write_rows(made, pa.table(rows, schema=schema))
    return catalog.table("d.t", options={"scan.partitions": text, **reading})


def ids(table: Any, **how: Any) -> list[int]:
    return sorted(table.read(columns=["id"], **how).to_arrow()["id"].to_pylist())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("max_pt()", [4]),
        (" MAX_TWO_PT() ", [3, 4]),
        ("dt=2026-01-09,hh=10", [2]),
        ("hh=9, dt=2026-01-10 ; dt=2026-01-09,hh=10", [2, 3]),
        ("dt=__DEFAULT_PARTITION__", [5]),
        ("dt=2026-01-09", []),
        ("dt=1999-01-01,hh=1", []),
    ],
)
def test_the_partitions_that_are_named_are_read(text: str, wanted: list[int]) -> None:
    table = chosen(text)
    assert ids(table) == wanted
    assert table.count() == len(wanted)
    assert ids(table, where="id < 3") == [one for one in wanted if one < 3]
    assert ids(table, limit=1) == wanted[:1] or len(wanted) > 1


def test_the_newest_is_that_of_the_state_that_is_read() -> None:
    table = chosen("max_pt()", key=True)
    later = {"dt": [dt.date(2026, 2, 1)], "hh": [0], "id": [6]}
    write_rows(table, pa.table(later, schema=table.arrow_schema))
    assert ids(table) == [6]
    assert ids(table, snapshot=1) == [4]


def test_a_lookup_knows_the_newest_partition_alone() -> None:
    table = chosen("max_pt()", key=True)
    joined = tc.lookup_join(pa.table({"id": [3, 4]}), table, on=["id"], columns=["hh"])
    assert joined["hh"].to_pylist() == [None, 10]


def test_writers_statements_and_upkeep_see_the_whole_table() -> None:
    table = chosen("max_pt()", key=True)
    table.delete(where="hh = 9")
    table.compact(strategy="full")
    assert [row[2] for row in rows_of(table)] == [4]
    assert table.system("files").to_arrow()["record_count"].to_pylist() == [1, 1]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2026-01-09", "expected partitions such as"),
        ("dt=2026-01-09;", "expected partitions such as"),
        ("day=2026-01-09", "'day' is no partition column"),
        ("dt=soon", "does not fit date32"),
        ("dt=max_pt()", "does not fit date32"),
    ],
)
def test_what_names_no_partition_is_refused(text: str, why: str) -> None:
    with pytest.raises(OptionError, match=why) as caught:
        ids(chosen(text))
    assert "max_two_pt()" in str(caught.value)


def test_a_table_without_partitions_has_none() -> None:
    catalog = new_catalog()
    catalog.create_table("d.t", SCHEMA, options={"scan.partitions": "max_pt()"})
    with pytest.raises(OptionError, match=r"d\.t is not partitioned"):
        catalog.table("d.t").read().to_arrow()


def test_changes_are_not_limited_by_it_and_say_so() -> None:
    table = chosen("max_pt()")
    with pytest.raises(UnsupportedFeatureError, match=r"a stream of d\.t cannot be limited"):
        next(table.follow())
    with pytest.raises(UnsupportedFeatureError, match=r"a range of changes of d\.t"):
        chosen("max_pt()", **{"incremental-between": "0,1"}).read().to_arrow()
    assert table.system("audit_log").to_arrow()["id"].to_pylist() == [4]
