"""Clones, rewritten manifests, consumers, whole databases.

Mutants: deletion vectors left behind; a half-made clone refused; the wrong schema copied; a table that
fails stops the others; busy partitions compacted.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import AlreadyExistsError, ArgumentError, NotFoundError
from table_core.table.metadata.refs.consumers import set_consumer
from tests.clocks import Later
from tests.tables import new_catalog, rows_of, write_rows

SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("dt", pa.string(), nullable=False),
        pa.field("v", pa.int64()),
    ]
)
HOUR_MS = 3_600_000


@pytest.fixture
def catalog() -> Any:
    return new_catalog()


def create(catalog: Any, name: str = "d.t", **options: str) -> Any:
    named = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    return catalog.create_table(
        name,
        SCHEMA,
        primary_key=("k", "dt"),
        partition_by=("dt",),
        options={"bucket": "1", "write-only": "true"} | named,
    )


def put(table: Any, key: int, value: int = 0, dt: str = "a") -> None:
    write_rows(table, pa.table({"k": [key], "dt": [dt], "v": [value]}, schema=SCHEMA))


# -------------------------------------------------------------------------------------- clones
@pytest.mark.parametrize("vectors", ["true", "false"])
def test_a_clone_reads_as_its_source_did(catalog: Any, vectors: str) -> None:
    table = create(catalog, deletion_vectors__enabled=vectors, write_only="false")
    for key in range(6):
        put(table, key % 4, key, dt="ab"[key % 2])
    want = rows_of(table)
    catalog.create_database("e")
    said = catalog.clone_table("d.t", "e.copy", dry_run=True)
    done = catalog.clone_table("d.t", "e.copy")
    same = ("files_after", "bytes_after", "table", "action")
    assert [getattr(said, n) for n in same] == [getattr(done, n) for n in same]
    assert said.details == done.details
    catalog.drop_table("d.t")
    copy = catalog.table("e.copy")
    assert rows_of(copy) == want
    put(copy, 9, 9)
    assert len(rows_of(copy)) == len(want) + 1


def test_snapshots_and_tags_can_be_cloned_with_the_schema_of_their_time(catalog: Any) -> None:
    table = create(catalog)
    put(table, 1)
    table.tags.create("one")
    catalog.alter_table("d.t", [tc.AddColumn("note", "STRING")])
    table = catalog.table("d.t")
    write_rows(table, pa.table({"k": [2], "dt": ["a"], "v": [2], "note": ["x"]}))
    for number, which in enumerate(({"snapshot": 1}, {"tag": "one"})):
        catalog.clone_table("d.t", f"d.old{number}", **which)
        old = catalog.table(f"d.old{number}")
        assert old.arrow_schema.names == ["k", "dt", "v"]
        assert rows_of(old) == [(1, "a", 0)]
    catalog.clone_table("d.t", "d.new")
    assert rows_of(catalog.table("d.new")) == rows_of(table)
    with pytest.raises(NotFoundError):
        catalog.clone_table("d.t", "d.none", snapshot=9)


def test_a_clone_that_was_cut_short_goes_on(tmp_path: Path) -> None:
    source = tc.open_catalog(str(tmp_path / "a"))
    target = tc.open_catalog(str(tmp_path / "b"))
    for one in (source, target):
        one.create_database("d")
    table = create(source)
    put(table, 1)
    put(table, 2)
    source.clone_table("d.t", "d.t", to=target)
    root = tmp_path / "b" / "d.db" / "t"
    for path in (root / "snapshot").iterdir():
        path.unlink()
    data = sorted((root / "dt=a" / "bucket-0").iterdir())
    data[0].write_bytes(b"half")
    source.clone_table("d.t", "d.t", to=target)
    assert rows_of(target.table("d.t")) == rows_of(table)
    with pytest.raises(AlreadyExistsError, match="exists already"):
        source.clone_table("d.t", "d.t", to=target)


def test_the_same_clone_again_is_found(catalog: Any) -> None:
    put(create(catalog), 1)
    commit = tc.CommitAs(user="dag", identifier=1)
    first = catalog.clone_table("d.t", "d.c", commit=commit)
    again = catalog.clone_table("d.t", "d.c", commit=commit)
    assert (first.details["replayed"], again.details["replayed"]) == (False, True)
    assert again.snapshot_after == first.snapshot_after


def test_an_empty_table_is_cloned_empty(catalog: Any) -> None:
    create(catalog)
    assert catalog.clone_table("d.t", "d.c").files_after == 0
    assert rows_of(catalog.table("d.c")) == []


def test_a_database_is_cloned_by_names(catalog: Any) -> None:
    for name in ("a1", "a2", "b1"):
        put(create(catalog, f"d.{name}"), 1)
    done = catalog.clone_database("d", "e", including="a.*|b.*", excluding="a2", parallelism=2)
    assert sorted(done.details["tables"]) == ["a1", "b1"]
    assert catalog.tables("e") == ["a1", "b1"]
    assert done.files_after == 2


# ----------------------------------------------------------------------------------- manifests
def test_manifests_are_written_anew_and_the_dry_run_said_how_many(catalog: Any) -> None:
    table = create(catalog)
    for key in range(5):
        put(table, key % 2, key)
    table.compact()
    want = rows_of(table)
    said = table.rewrite_manifests(dry_run=True)
    before = table.access.metadata.data_manifests(table.latest_snapshot())
    done = table.rewrite_manifests()
    after = table.access.metadata.data_manifests(table.latest_snapshot())
    assert said.details == done.details
    assert (len(before), len(after)) == (
        done.details["manifests_before"],
        done.details["manifests_after"],
    )
    assert (len(after), sum(m.num_deleted_files for m in after)) == (1, 0)
    assert table.latest_snapshot().commit_kind == "COMPACT"
    assert table.latest_snapshot().delta_record_count == 0
    assert rows_of(table) == want
    head = table.latest_snapshot().id
    assert table.rewrite_manifests().snapshot_after == head  # nothing is left to do
    assert table.latest_snapshot().id == head


# ----------------------------------------------------------------------------------- consumers
def test_consumers_are_listed_reset_and_forgotten(catalog: Any) -> None:
    table = create(catalog)
    for key in range(3):
        put(table, key)
    set_consumer(table.access, "a", 2)
    table.consumers.reset("a", 3)
    table.consumers.reset("b", 4)
    assert table.consumers.list() == {"a": 3, "b": 4}
    with pytest.raises(ArgumentError, match="beyond"):
        table.consumers.reset("b", 5)
    with pytest.raises(NotFoundError, match="no consumer"):
        table.consumers.delete("c")
    assert table.consumers.clear("a|b", excluding="b").details["consumers"] == ["a"]
    table.consumers.delete("b")
    assert table.consumers.list() == {}


def test_a_consumer_is_not_reset_to_what_expired(catalog: Any) -> None:
    table = create(catalog)
    for key in range(3):
        put(table, key)
    table.consumers.reset("a", 3)
    table.expire_snapshots(retain_max=1, older_than=datetime.now(UTC))
    for id in ("a", "fresh"):
        with pytest.raises(NotFoundError, match="has expired; the earliest is 3"):
            table.consumers.reset(id, 1)
    assert table.consumers.list() == {"a": 3}


# ----------------------------------------------------------------------------------- databases
def test_a_database_is_compacted_table_by_table(catalog: Any) -> None:
    for name in ("a1", "a2", "b1"):
        table = create(catalog, f"d.{name}")
        for key in range(3):
            put(table, key)
    done = catalog.compact_database("d", excluding="b.*", strategy="full", parallelism=2)
    assert {name: found["files_after"] for name, found in done.details["tables"].items()} == {
        "a1": 1,
        "a2": 1,
    }
    assert (done.files_before, done.files_after) == (6, 2)
    assert catalog.table("d.b1").latest_snapshot().id == 3


def test_busy_partitions_are_left_alone(catalog: Any) -> None:
    table = create(catalog)
    for _ in range(2):
        put(table, 1, dt="old")
    assert catalog.compact_database("d", strategy="full", idle_time="1 h").files_deleted == 0
    later = replace(catalog, clock=Later(2 * HOUR_MS))
    on = tc.Table(replace(table.access, clock=Later(2 * HOUR_MS)))
    for _ in range(2):
        put(on, 1, dt="new")
    done = later.compact_database("d", strategy="full", idle_time="1 h")
    assert done.files_deleted == 2
    live = table.access.live_entries(table.latest_snapshot())
    assert sorted(e.partition.count(b"new") for e in live) == [0, 1, 1]


def test_a_table_that_fails_stops_no_other(catalog: Any) -> None:
    for name in ("a", "z"):
        table = create(catalog, f"d.{name}")
        for key in range(2):
            put(table, key)
    broken = create(catalog, "d.m")
    put(broken, 1)
    broken.access.storage.write("snapshot/snapshot-1", b"no snapshot")
    with pytest.raises(tc.errors.CorruptFileError) as caught:
        catalog.compact_database("d", strategy="full")
    assert "failed for ['m'], done for ['a', 'z']" in caught.value.__notes__[0]
    assert catalog.table("d.z").latest_snapshot().commit_kind == "COMPACT"


@pytest.mark.parametrize(
    "wrong",
    [{"including": "("}, {"parallelism": 0}, {"idle_time": "soon"}, {"strategy": "some"}],
)
def test_wrong_wishes_are_refused(catalog: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        catalog.compact_database("d", **wrong)


# ------------------------------------------------------------------------------------ marking
def test_idle_partitions_are_marked_once(catalog: Any) -> None:
    table = create(catalog)
    put(table, 1, dt="a")
    on = tc.Table(replace(table.access, clock=Later(2 * HOUR_MS)))
    put(on, 1, dt="b")
    marked = on.mark_done(idle_time="1 h").details["marked"]
    assert marked == [{"path": "dt=a/_SUCCESS", "again": False}]
    assert on.mark_done(idle_time="1 h").details["marked"] == []
    with pytest.raises(ArgumentError, match="one of them"):
        on.mark_done()


def test_the_end_of_a_write_marks_its_partitions(catalog: Any) -> None:
    table = create(catalog, partition__end_input_to_done="true")
    put(table, 1, dt="b")
    assert table.access.storage.exists("dt=b/_SUCCESS")
