"""Paimon's writer and ours on one table at the same time.

Goal: through the JDBC catalog with its lock on both sides nothing is lost, in either direction, and
each sees what the other has made.  Without a lock Paimon checks and then moves, so it can replace a
snapshot of ours: then our next commit says so, names both writers, and builds nothing on top.

``ROUNDS`` commits each; ``make shared-commits`` takes 100.
"""

from __future__ import annotations

import hashlib
import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from both_write import paimon_writes, require_rows_of_both
from judge import Judge, JudgeError

import table_core as tc
from table_core.errors import ErrorKind, ForeignOverwriteError
from tests.lanes import budget
from tests.servers import mariadb, postgres
from tests.tables import write_rows

pytestmark = pytest.mark.interop

ROUNDS = budget("ROUNDS", ci=8, nightly=100)
SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
TURNS = {"commit.max-retries": "1000", "commit.max-retry-wait": "200 ms"}
Options = dict[str, str]


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def options(request: pytest.FixtureRequest) -> Iterator[Options]:
    start = postgres if request.param == "postgresql" else mariadb
    with start() as database:
        yield {**database.options, "catalog-key": "shared"}


def add(table: tc.Table, key: int) -> tc.Commit:
    return write_rows(table, pa.table({"k": [key], "v": [key]}, schema=table.arrow_schema))


def body_hash(table: tc.Table, id: int) -> str:
    return hashlib.sha256(table.access.metadata.snapshot_body(id)).hexdigest()


def test_each_sees_what_the_other_makes(paimon: Judge, options: Options, tmp_path: Path) -> None:
    ours = tc.open_catalog(str(tmp_path), options)
    ours.create_database("one")
    ours.create_table("one.a", SCHEMA, primary_key=("k",), options={"bucket": "1"})
    theirs = paimon.table(tmp_path, "one.a", options)
    theirs.write([["+I", 1, 1]])
    assert ours.table("one.a").read().to_arrow().to_pylist() == [{"k": 1, "v": 1}]
    add(ours.table("one.a"), 2)
    assert sorted(row[1] for row in theirs.read()) == [1, 2]

    ours.alter_table("one.a", [tc.AddColumn("note", "STRING")])
    theirs.write([["+I", 3, 3, "theirs"]])
    theirs.alter([["rename", "note", "remark"], ["add", "n", "INT", "k"]])
    rows = ours.table("one.a").read().to_arrow().sort_by("k").to_pylist()
    assert rows[2] == {"k": 3, "n": None, "v": 3, "remark": "theirs"}

    paimon.table(tmp_path, "one.b", options).create([("k", "INT")], bucket="-1")
    assert ours.tables("one") == ["a", "b"]
    ours.rename_table("one.b", "one.c")
    assert paimon.table(tmp_path, "one.c", options).read() == []
    with pytest.raises(JudgeError):
        paimon.table(tmp_path, "one.b", options).read()
    ours.drop_database("one", cascade=True)
    with pytest.raises(JudgeError):
        theirs.read()


@pytest.mark.parametrize("key", [(), ("k",)], ids=["append", "key"])
def test_under_one_lock_nothing_is_lost(
    paimon: Judge, options: Options, tmp_path: Path, key: tuple[str, ...]
) -> None:
    catalog = tc.open_catalog(str(tmp_path), options)
    database = f"both{len(key)}"
    catalog.create_database(database)
    settings = {**TURNS, "write-only": "true", "bucket": "1" if key else "-1"}
    table = catalog.create_table(f"{database}.t", SCHEMA, primary_key=key, options=settings)
    theirs = paimon.table(tmp_path, f"{database}.t", options)
    made = {}
    with paimon_writes(theirs, ROUNDS):
        for n in range(ROUNDS):
            (id,) = add(table, n).snapshot_ids
            made[id] = body_hash(table, id)
    require_rows_of_both(table, theirs, ROUNDS)
    assert {id: body_hash(table, id) for id in made} == made
    users = [s.commit_user for s in table.snapshots()]
    turns = sum(a != b for a, b in itertools.pairwise(users))
    print(f"{2 * ROUNDS} commits, {turns} changes of writer")


def test_without_a_lock_a_replaced_snapshot_is_found_and_nothing_built_on_it(
    paimon: Judge, tmp_path: Path
) -> None:
    """Paimon's commit is made on a copy and its files moved over, as by a writer that had checked
    before we created, and moves afterwards."""
    catalog = tc.open_catalog(str(tmp_path / "wh"))
    catalog.create_database("d")
    table = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options={"bucket": "1"})
    add(table, 1)
    shutil.copytree(tmp_path / "wh", tmp_path / "copy")
    paimon.table(tmp_path / "copy", "d.t").write([["+I", 7, 7]])
    ours = add(table, 2)
    assert ours.snapshot_ids == (2,)
    shutil.copytree(tmp_path / "copy", tmp_path / "wh", dirs_exist_ok=True)
    replaced = body_hash(table, 2)

    with pytest.raises(ForeignOverwriteError) as caught:
        add(table, 3)
    assert caught.value.kind is ErrorKind.CORRUPT
    users = {table.snapshots()[1].commit_user, *map(str, caught.value.facts.values())}
    assert caught.value.facts["theirs"] == table.snapshots()[1].commit_user
    assert str(caught.value.facts["ours"]) in str(caught.value)
    assert str(caught.value.facts["theirs"]) in str(caught.value)
    assert len(users) >= 2
    assert table.access.metadata.head_id() == 2
    assert body_hash(table, 2) == replaced
