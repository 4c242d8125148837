"""Goal: Apache Paimon and we mean the same by the same files, whoever wrote them.

Method: tables of every shape, written by one side or by both in turns, read by both.  A model of a
few lines says what must be there, so that agreeing on a wrong answer is no way out.
"""

from __future__ import annotations

import random
import uuid
from pathlib import Path
from typing import Any

import pytest
from judge import Judge, agree, agree_rows, judged
from shapes import SHAPES, Model, Shape, batch

import table_core as tc
from tests.tables import write_rows

pytestmark = pytest.mark.interop

NAME = "default.t"
KEYED = [shape for shape in SHAPES if shape.keys]
CHANGING = [shape for shape in KEYED if "changelog-producer" in shape.options]


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    return tc.open_catalog(tmp_path.as_uri())


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.name)
def test_paimon_reads_what_we_wrote(
    shape: Shape, catalog: Any, paimon: Judge, tmp_path: Path
) -> None:
    table, theirs = shape.create(catalog, NAME), paimon.table(tmp_path, NAME)
    model, states = Model(shape), {}
    for seed in range(4):
        rows = batch(shape, seed)
        done = write_rows(table, rows)
        model.take(rows)
        states[done.snapshot_id] = list(model.state())
        agree_rows(model.state(), theirs.read())
    table.compact(strategy="full")
    agree_rows(model.state(), theirs.read())
    for snapshot, state in states.items():
        agree_rows(state, theirs.read(scan__snapshot_id=str(snapshot)))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.name)
def test_we_read_what_paimon_wrote(
    shape: Shape, catalog: Any, paimon: Judge, tmp_path: Path
) -> None:
    shape.create(catalog, NAME)
    theirs, model = paimon.table(tmp_path, NAME), Model(shape)
    for seed in range(4):
        rows = batch(shape, seed)
        theirs.write(judged(rows))
        model.take(rows)
        agree(catalog.table(NAME).read().to_arrow(), model.state())
    theirs.compact()
    agree(catalog.table(NAME).read().to_arrow(), model.state())


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.name)
def test_both_write_compact_and_expire_in_turns(
    shape: Shape, catalog: Any, paimon: Judge, tmp_path: Path
) -> None:
    table, theirs, model = shape.create(catalog, NAME), paimon.table(tmp_path, NAME), Model(shape)
    chance = random.Random(shape.name)
    for seed in range(10):
        rows = batch(shape, seed)
        model.take(rows)
        if chance.random() < 0.5:
            write_rows(table, rows)
        else:
            theirs.write(judged(rows))
        match chance.randrange(6):
            case 0:
                table.compact(strategy="full")
            case 1:
                table.compact(strategy="minor")
            case 2:
                theirs.compact()
            case 3:
                table.expire_snapshots(retain_max=2, retain_min=1)
            case 4:
                theirs.expire(2)
        agree_rows(model.state(), theirs.read())
        agree(catalog.table(NAME).read().to_arrow(), model.state())


@pytest.mark.parametrize("shape", CHANGING, ids=lambda s: s.name)
@pytest.mark.parametrize("writer", ["ours", "theirs", "both"])
def test_the_change_streams_are_equal(
    shape: Shape, writer: str, catalog: Any, paimon: Judge, tmp_path: Path
) -> None:
    table, theirs = shape.create(catalog, NAME), paimon.table(tmp_path, NAME)
    for seed in range(6):
        rows = batch(shape, seed)
        ours = writer == "ours" or (writer == "both" and seed % 2 == 0)
        if ours:
            write_rows(table, rows)
        else:
            theirs.write(judged(rows))
        if seed % 2:
            table.compact(strategy="full") if ours else theirs.compact()
    table = catalog.table(NAME)
    newest = table.latest_snapshot().id
    for after in range(newest):
        wanted = theirs.changes(after, newest)
        assert wanted or after
        changes = table.changes(after=after, to=newest).to_arrow()
        agree(changes, wanted, ordered=not shape.partitions)


@pytest.mark.parametrize("shape", CHANGING, ids=lambda s: s.name)
def test_the_changes_replay_to_the_state(
    shape: Shape, catalog: Any, paimon: Judge, tmp_path: Path
) -> None:
    table, theirs = shape.create(catalog, NAME), paimon.table(tmp_path, NAME)
    for seed in range(5):
        write_rows(table, batch(shape, seed))
    table.compact(strategy="full")
    newest = catalog.table(NAME).latest_snapshot().id
    replayed = {}
    for kind, key, *cells in theirs.changes(0, newest):
        if kind in ("+I", "+U"):
            replayed[key] = ["+I", key, *cells]
        elif kind == "-D":
            replayed.pop(key, None)  # an input changelog also deletes what was not there
    agree_rows(list(replayed.values()), theirs.read())


def test_a_tag_of_paimon_holds_its_state_through_our_expiry(
    catalog: Any, paimon: Judge, tmp_path: Path
) -> None:
    shape = SHAPES[3]
    table, theirs, model = shape.create(catalog, NAME), paimon.table(tmp_path, NAME), Model(shape)
    first = batch(shape, 1)
    write_rows(table, first)
    model.take(first)
    before = list(model.state())
    theirs.tag("kept")
    for seed in (2, 3, 4):
        write_rows(table, batch(shape, seed))
    table.compact(strategy="full")
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert len(table.snapshots()) == 1
    agree_rows(before, theirs.read(scan__tag_name="kept"))
    agree(catalog.table(NAME).read(tag="kept").to_arrow(), before)


def test_paimon_sees_our_schema_and_its_changes(
    catalog: Any, paimon: Judge, tmp_path: Path
) -> None:
    shape = SHAPES[3]
    table, theirs = shape.create(catalog, NAME), paimon.table(tmp_path, NAME)
    write_rows(table, batch(shape, 1))
    catalog.alter_table(NAME, [tc.AddColumn("extra", "DECIMAL(5, 1)")])
    assert theirs.columns() == [
        ("id", "BIGINT NOT NULL"),
        ("region", "STRING NOT NULL"),
        ("qty", "INT"),
        ("amount", "DECIMAL(12, 2)"),
        ("ratio", "DOUBLE"),
        ("flag", "BOOLEAN"),
        ("day", "DATE"),
        ("at", "TIMESTAMP(3)"),
        ("note", "STRING"),
        ("raw", "BYTES"),
        ("extra", "DECIMAL(5, 1)"),
    ]
    assert {row[-1] for row in theirs.read()} == {None}
    theirs.write([[*theirs.read()[0][:-1], "12.5"]])
    agree(catalog.table(NAME).read().to_arrow(), theirs.read())


@pytest.mark.parametrize("writer", ["ours", "theirs", "both"])
def test_upkeep_of_a_table_of_either_side_leaves_what_paimon_reads(
    writer: str, catalog: Any, paimon: Judge, tmp_path: Path
) -> None:
    """Expiry and orphan removal, with a tag of Paimon and rests of both."""
    shape = SHAPES[3]
    table, theirs, model = shape.create(catalog, NAME), paimon.table(tmp_path, NAME), Model(shape)
    tagged = []
    for seed in range(8):
        rows = batch(shape, seed)
        if writer == "ours" or (writer == "both" and seed % 2):
            write_rows(table, rows)
        else:
            theirs.write(judged(rows))
        model.take(rows)
        if seed == 3:
            theirs.tag("kept")
            tagged = list(model.state())
    theirs.compact() if writer == "theirs" else table.compact(strategy="full")
    storage, rests = table.access.storage, []
    for path in (p.path for p in list(storage.walk("")) if "/data-" in p.path):
        folder = path.rpartition("/")[0]
        rests += [f"{folder}/data-{uuid.uuid4()}-0.parquet", f"manifest/manifest-{uuid.uuid4()}-0"]
    for path in rests:
        storage.write(path, b"rest")
    table.expire_snapshots(retain_max=1, retain_min=1)
    soon = {"older_than": table.access.clock.now_ms() + 60_000, "allow_young": True}
    said = table.remove_orphan_files(**soon, dry_run=True)
    done = table.remove_orphan_files(**soon)
    assert said.files_deleted == done.files_deleted == len(rests)
    assert {file["path"] for file in done.details["deleted"]} == set(rests)
    assert done.details["foreign"] == []
    agree_rows(model.state(), theirs.read())
    agree_rows(tagged, theirs.read(scan__tag_name="kept"))
    agree(catalog.table(NAME).read(tag="kept").to_arrow(), tagged)
    rows = batch(shape, 99)
    theirs.write(judged(rows))
    model.take(rows)
    agree(catalog.table(NAME).read().to_arrow(), model.state())


def test_paimon_reads_our_statistics_and_our_marks_do_no_harm(
    catalog: Any, paimon: Judge, tmp_path: Path
) -> None:
    shape = SHAPES[3]
    table, theirs, model = shape.create(catalog, NAME), paimon.table(tmp_path, NAME), Model(shape)
    rows = batch(shape, 1)
    write_rows(table, rows)
    model.take(rows)
    table.analyze()
    agree_rows(model.state(), theirs.read())
    found = paimon.table(tmp_path, f"{NAME}$statistics").read()
    assert [row[1:4] for row in found] == [[1, 0, len(model.state())]]
    theirs.write(judged(rows))
    assert catalog.table(NAME).latest_snapshot().statistics is not None
    assert len(paimon.table(tmp_path, f"{NAME}$statistics").read()) == 1
