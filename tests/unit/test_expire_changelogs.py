"""Changelogs that outlive their snapshots go in their own time (format 11.3).

Mutants: the promise written last; a tag's or branch's files not kept; the newest changelog deleted.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.ondisk import layout
from table_core.storage.stores.faults import Call, Faults, FaultyStorage
from table_core.table.maintenance.branches import Branches
from table_core.table.maintenance.tags import Tags
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.refs.branches import branch_access
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.int64())])
OPTIONS = {
    "bucket": "1",
    "write-only": "true",
    "snapshot.time-retained": "1 ms",
    "snapshot.num-retained.min": "1",
    "changelog.num-retained.max": "100",
    "changelog.num-retained.min": "1",
    "changelog.time-retained": "2 ms",
    "manifest.merge-min-count": "1",
    "manifest.full-compaction-threshold-size": "1 b",
}


def create(producer: str, **options: str) -> Any:
    catalog = new_catalog()
    given = OPTIONS | {"changelog-producer": producer} | options
    return catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=given)


def put(table: Any, key: int) -> None:
    write_rows(table, pa.table({"k": [key], "v": [key]}, schema=SCHEMA))


def kept(table: Any) -> list[int]:
    names = [i.path.rpartition("/")[2] for i in table.access.storage.list("changelog")]
    return sorted(id for n in names if (id := layout.numbered(n, "changelog-")) is not None)


def delivered(table: Any, after: int, to: int) -> list[int]:
    return sorted(table.changes(after=after, to=to).to_arrow()["k"].to_pylist())


def paths(table: Any) -> set[str]:
    return {info.path for info in table.access.storage.walk("")}


def copied(table: Any) -> Any:
    """The same files under a root of which nothing is remembered."""
    uri = f"memory://{uuid.uuid4().hex}/t"
    target = tc.open_catalog(uri).storage
    for path in paths(table):
        target.write(path, table.access.storage.read(path))
    return tc.open_table(uri)


def worn(producer: str) -> Any:
    """Six writes and a compaction; of the snapshots only the newest is left."""
    table = create(producer)
    for key in range(1, 4):
        put(table, key)
    table.compact()
    for key in range(4, 7):
        put(table, key)
    table.expire_snapshots(retain_max=1)
    return table


@pytest.mark.parametrize("producer", ["none", "input"])
def test_what_stays_is_delivered_and_what_goes_leaves_nothing(producer: str) -> None:
    table = worn(producer)
    assert kept(table) == [1, 2, 3, 4, 5, 6]
    assert delivered(copied(table), 0, 7) == [1, 2, 3, 4, 5, 6]
    before = paths(table)
    said = table.expire_changelogs(retain_min=4, dry_run=True)
    assert paths(table) == before
    done = table.expire_changelogs(retain_min=4)
    assert (done.files_deleted, done.bytes_deleted) == (said.files_deleted, said.bytes_deleted)
    assert done.details["changelogs_expired"] == said.details["changelogs_expired"] == [1, 2, 3]
    assert kept(table) == [4, 5, 6]
    assert table.access.storage.read("changelog/EARLIEST") == b"4"
    assert delivered(copied(table), 3, 7) == [4, 5, 6]
    assert sorted(copied(table).read().to_arrow()["k"].to_pylist()) == [1, 2, 3, 4, 5, 6]
    with pytest.raises(tc.errors.TableError):
        table.changes(after=0, to=7).to_arrow()


@pytest.mark.parametrize("producer", ["none", "input"])
def test_when_all_may_go_one_stays_and_no_rest_is_left(producer: str) -> None:
    table = worn(producer)
    done = table.expire_changelogs(retain_max=1)
    assert done.details["held_by"] == "newest changelog"
    assert kept(table) == [6]
    soon = table.access.clock.now_ms() + 60_000
    left = table.remove_orphan_files(older_than=soon, allow_young=True, dry_run=True)
    assert left.details["deleted"] == []
    assert table.expire_changelogs(retain_max=1).details["changelogs_expired"] == []


@pytest.mark.parametrize("by", ["tag", "branch"])
def test_a_tag_or_a_branch_keeps_what_it_names(by: str) -> None:
    table = create("none")
    for key in range(1, 4):
        put(table, key)
    Tags(table.access).create("early")
    if by == "branch":
        Branches(table.access).create("b", tag="early")
        Tags(table.access).delete("early")
    table.compact()
    for key in range(4, 7):
        put(table, key)
    table.expire_snapshots(retain_max=1)
    table.expire_changelogs(retain_max=1)
    access = copied(table).access
    held = tc.Table(access if by == "tag" else branch_access(access, "b"))
    assert sorted(held.read(tag="early").to_arrow()["k"].to_pylist()) == [1, 2, 3]


def test_manifests_that_are_still_named_stay() -> None:
    merge_late = {
        "manifest.merge-min-count": "100",
        "manifest.full-compaction-threshold-size": "16 mb",
    }
    table = create("none", **merge_late)
    for key in range(1, 8):
        put(table, key)
    table.expire_snapshots(retain_max=1)
    table.expire_changelogs(retain_min=4)
    assert delivered(copied(table), 3, 7) == [4, 5, 6, 7]
    assert sorted(copied(table).read().to_arrow()["k"].to_pylist()) == list(range(1, 8))


def test_a_consumer_and_the_limit_hold() -> None:
    table = worn("input")
    assert table.expire_changelogs(retain_max=1, max_deletes=2).details["held_by"] == (
        "snapshot.expire.limit"
    )
    assert kept(table) == [3, 4, 5, 6]
    table.access.storage.write("consumer/consumer-c", b'{"nextSnapshot": 5}')
    done = table.expire_changelogs(retain_max=1)
    assert done.details["held_by"] == "consumer"
    assert kept(table) == [5, 6]
    assert delivered(copied(table), 4, 7) == [4, 5, 6]


def test_a_run_cut_short_is_finished_by_the_next() -> None:
    table = worn("none")
    storage = table.access.storage
    documents = {id: storage.read(f"changelog/changelog-{id}") for id in (1, 2, 3)}
    table.expire_changelogs(retain_min=4)
    for id, body in documents.items():
        storage.write(f"changelog/changelog-{id}", body)
    done = table.expire_changelogs(retain_min=4)
    assert done.details["changelogs_expired"] == [1, 2, 3]
    assert kept(table) == [4, 5, 6]
    assert delivered(copied(table), 3, 7) == [4, 5, 6]


def test_young_ones_stay_by_the_options() -> None:
    table = worn("input")
    patient = tc.open_table(table.uri, options={"changelog.time-retained": "1 d"})
    done = patient.expire_changelogs()
    assert (done.details["changelogs_expired"], done.details["held_by"]) == (
        [],
        "snapshot.time-retained",
    )
    assert create("input").expire_changelogs().details["changelogs_expired"] == []


def test_a_run_that_another_overtakes_begins_anew() -> None:
    """Somebody else expires, between promise and deletion, the changelog that was to stay."""
    table = worn("none")
    others: list[Any] = [tc.open_table(table.uri)]

    def overtake(call: Call) -> None:
        if (call.name, call.path) == ("write", "changelog/EARLIEST") and others:
            others.pop().expire_changelogs(retain_max=1)

    storage = FaultyStorage(table.access.storage, Faults(overtake))
    metadata = Metadata(storage)
    overtaken = tc.Table(replace(table.access, storage=storage, metadata=metadata))
    done = overtaken.expire_changelogs(retain_min=4)
    assert not others
    assert done.details["changelogs_expired"] == []
    assert kept(table) == [6]
    assert delivered(copied(table), 5, 7) == [5, 6]
