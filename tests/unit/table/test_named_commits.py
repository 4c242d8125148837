"""Commits under a name: once, however often and however late they are asked for."""

from __future__ import annotations

import pyarrow as pa
import pytest

import table_core as tc
from table_core.ondisk.properties import COMMITS_PROPERTY
from tests.tables import new_catalog

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])


@pytest.fixture
def catalog() -> tc.Catalog:
    return new_catalog()


def make(catalog: tc.Catalog, **options: str) -> tc.Table:
    return catalog.create_table(
        "d.t", SCHEMA, primary_key=("k",), options={"bucket": "1", "write-only": "true", **options}
    )


def add(table: tc.Table, *keys: int, **how: object) -> tc.Commit:
    with table.write(commit=tc.CommitAs(**how)) as writer:
        if keys:
            rows = {"k": list(keys), "v": [1] * len(keys)}
            writer.write(pa.table(rows, schema=table.arrow_schema))
        return writer.commit()


def keys(table: tc.Table) -> list[int]:
    return sorted(table.read().to_arrow()["k"].to_pylist())


def test_a_retry_after_its_snapshot_expired_is_told_that_it_landed(catalog: tc.Catalog) -> None:
    table = make(catalog)
    add(table, 1, user="task", identifier=4)
    for n in range(2, 6):
        add(table, n)
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert [s.id for s in table.snapshots()] == [5]
    again = catalog.table("d.t")
    done = add(again, 1, user="task", identifier=4)
    assert (done.replayed, done.snapshot_ids) == (True, ())
    assert [s.id for s in again.snapshots()] == [5]
    assert not add(again, 9, user="task", identifier=5).replayed


def test_a_rollback_takes_the_name_back_too(catalog: tc.Catalog) -> None:
    table = make(catalog)
    add(table, 1)
    add(table, 2, user="task", identifier=0)
    table.rollback_to(snapshot=1)
    assert not add(table, 2, user="task", identifier=0).replayed
    assert keys(table) == [1, 2]


def test_the_list_of_names_is_bounded_and_holds_no_expiry(catalog: tc.Catalog) -> None:
    table = make(catalog)
    for n in range(70):
        add(table, n, user=f"task {n}", identifier=0)
    listed = (table.snapshots()[-1].properties or {})[COMMITS_PROPERTY].split()
    assert len(listed) == len(set(listed)) == 64
    table.expire_snapshots(retain_max=1, retain_min=1, max_deletes=100)
    assert len(table.snapshots()) == 1


def test_a_growing_stream_takes_nothing_twice_and_forgets_nothing(catalog: tc.Catalog) -> None:
    table = make(catalog)
    for n in (1, 2, 5):
        add(table, n, user="stream", identifier=n, growing=True)
    assert add(table, 2, user="stream", identifier=2, growing=True).replayed
    assert add(table, 4, user="stream", identifier=4, growing=True).replayed
    assert table.filter_committed("stream", [7, 4, 5, 6]) == [6, 7]
    assert table.filter_committed("other", [1]) == [1]
    empty = add(table, user="stream", identifier=6, growing=True)
    assert empty.snapshot_ids == (4,), "a stream's empty commit says how far it is"
    for n in range(10, 13):
        add(table, n)
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert catalog.table("d.t").filter_committed("stream", [5, 6, 7]) == [7]


@pytest.mark.parametrize(("ignored", "made"), [("true", 0), ("false", 1)])
def test_a_commit_without_rows_makes_a_snapshot_if_the_table_says_so(
    catalog: tc.Catalog, ignored: str, made: int
) -> None:
    table = make(catalog, **{"snapshot.ignore-empty-commit": ignored})
    add(table)
    add(table, user="stream", identifier=1, growing=True) if made == 0 else None
    assert len(table.snapshots()) == made


def test_an_altered_table_is_altered_once_under_a_name(catalog: tc.Catalog) -> None:
    make(catalog)
    name = tc.CommitAs(user="task", identifier=0)
    for _ in range(2):
        catalog.alter_table("d.t", [tc.AddColumn("note", "STRING")], commit=name)
    catalog.alter_table("d.t", [tc.DropColumn("note")])
    catalog.alter_table("d.t", [tc.AddColumn("note", "STRING")], commit=name)
    assert catalog.table("d.t").arrow_schema.names == ["k", "v"]
    with pytest.raises(tc.errors.SchemaError):
        catalog.alter_table("d.t", [tc.DropColumn("note")])
