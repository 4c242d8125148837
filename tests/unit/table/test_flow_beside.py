"""A flow whose source, target or twin changes between two of its looks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import (
    CommitConflictError,
    FilesExpiredError,
    NotFoundError,
    PositionDivergedError,
    TableError,
)
from table_core.jobs.flow import run_flow
from table_core.storage.stores.faults import Call, Crash, Fault, Faults, FaultyStorage
from table_core.table.api.file_rows import append_files
from tests.sql_here import SqlHere
from tests.tables import write_rows
from tests.unit.table.flow_house import (
    SCHEMA,
    SHORT,
    House,
    fast_forwarded,
    grown_again,
    made_anew,
)


@pytest.fixture
def house() -> House:
    house = House()
    house.put(1)
    house.run()
    house.put(2)
    house.put(3)
    return house


def rolled_back(house: House) -> None:
    house.catalog.table("d.src").rollback_to(snapshot=1)


def expired(house: House) -> None:
    house.put(4)
    house.catalog.table("d.src").expire_snapshots(retain_max=1, retain_min=1)


TURNS = [grown_again, fast_forwarded, made_anew]


class Meanwhile:
    """A flow over a store at whose call ``at``, the first that fits, something else is done whole."""

    def __init__(self, house: House, what: Callable[[House], None], at: Callable[[Call], bool]):
        self.house, self.what, self.at, self.done = house, what, at, False

    def __call__(self, call: Call) -> Fault | None:
        if not self.done and self.at(call):
            self.done = True
            self.what(self.house)
        return None

    def run(self, **args: Any) -> None:
        home = self.house.catalog
        storage: Any = FaultyStorage(home.storage, Faults(self))
        self.house.catalog = replace(home, storage=storage)
        try:
            self.house.run(**args)
        finally:
            self.house.catalog = home
            assert self.done


def holds(call: Call) -> bool:
    """What comes directly after the newest snapshot was looked at, and what was read last compared."""
    return call.path.startswith("consumer/")


class BeforeQuery(SqlHere):
    """Something else is done when all is pinned."""

    def __init__(self, what: Callable[[], None]) -> None:
        super().__init__()
        self.what = what

    def query(self, *how: Any, **more: Any) -> Any:
        self.what()
        return super().query(*how, **more)


@pytest.mark.parametrize("turn", [*TURNS, rolled_back])
def test_a_source_that_turns_before_it_is_held_is_noticed(
    house: House, turn: Callable[[House], None]
) -> None:
    """Its numbers are there again, or not at all: nothing of another line is taken for the one that was found."""
    with pytest.raises(CommitConflictError, match="a moment ago"):
        Meanwhile(house, turn, holds).run()
    assert house.ids() == [1]
    if turn is made_anew:
        with pytest.raises(PositionDivergedError):
            house.run()
        return
    house.run()
    assert house.ids() == ([1] if turn is rolled_back else [1, 20, 21, 22])


@pytest.mark.parametrize("turn", [*TURNS, rolled_back, expired])
def test_a_first_run_whose_source_turns_before_it_is_held_notices_it_too(
    turn: Callable[[House], None],
) -> None:
    house = House()
    for id in (1, 2, 3):
        house.put(id)
    with pytest.raises(CommitConflictError, match="a moment ago"):
        Meanwhile(house, turn, holds).run()
    house.run()
    assert house.ids() == house.ids("d.src")


@pytest.mark.parametrize("mode", ["changes", "snapshot"])
@pytest.mark.parametrize("turn", TURNS)
def test_a_source_that_turns_before_it_is_read_gives_no_rows_of_another_line(
    house: House, turn: Callable[[House], None], mode: str
) -> None:
    sources = {"src": {"table": "d.src", "mode": mode}}
    target = "d.out" if mode == "changes" else "d.other"
    try:
        house.run(sources=sources, target=target, engine=BeforeQuery(lambda: turn(house)))
    except TableError as error:
        assert isinstance(error, FilesExpiredError)  # they went with their table
        assert house.ids(target) == ([1] if mode == "changes" else [])
        return
    assert house.ids(target) == [1, 2, 3]
    if mode == "changes":  # and its position names the line that it has read
        with pytest.raises(PositionDivergedError):
            house.run(sources=sources, target=target)


def test_a_source_that_expires_before_it_is_held_is_said(house: House) -> None:
    src = house.catalog.table("d.src")
    [name] = src.consumers.list()

    def gone(house: House) -> None:
        src.consumers.delete(name)
        expired(house)

    with pytest.raises(PositionDivergedError, match="has expired before it was read"):
        Meanwhile(house, gone, holds).run()
    assert house.ids() == [1]


@pytest.mark.parametrize("what", [rolled_back, grown_again])
def test_a_flow_from_a_table_into_itself_beside_a_rollback_of_it(
    what: Callable[[House], None],
) -> None:
    """It commits on the line that it has read, or not at all; what it read is not kept for its own commit."""
    house = House()
    for id in (1, 2, 3):
        house.put(id)
    own: dict[str, Any] = {
        "target": "d.src",
        "sql": "SELECT id + 100 AS id FROM src",
        "name": "own",
    }
    with pytest.raises(CommitConflictError):
        Meanwhile(house, what, holds).run(**own)
    for _ in range(2):  # its own rows are changes of its source
        before = house.ids("d.src")
        new = [id for id in before if id > 100] or before
        house.run(**own)
        assert house.ids("d.src") == sorted([*before, *(id + 100 for id in new)])


def test_a_target_that_is_rolled_back_below_its_position_refuses_the_rows(house: House) -> None:
    """Between the look of the run and its commit; its rows were computed from a position that is gone."""
    house.run()
    house.put(4)
    with pytest.raises(CommitConflictError):
        house.run(
            engine=BeforeQuery(
                lambda: house.catalog.table("d.out").rollback_to(snapshot=1) and None
            )
        )
    assert house.ids() == [1]
    house.run()
    assert house.ids() == [1, 2, 3, 4]


def test_a_target_that_is_dropped_before_the_commit_gets_no_file(house: House) -> None:
    for commit in (tc.CommitAs(), tc.CommitAs(user="u", identifier=1)):
        with pytest.raises(NotFoundError):
            house.run(commit=commit, engine=BeforeQuery(lambda: house.catalog.drop_table("d.out")))
        assert not list(house.catalog.storage.within("d.db/out").walk(""))
        house.make("d.out")


# ------------------------------------------------------------------------------------- twins
VECTORS = {"bucket": "1", "deletion-vectors.enabled": "true"}
"""Readers see rows of such a table once they are compacted."""


def by_write(house: House, catalog: Any, commit: tc.CommitAs, folder: Path) -> None:
    rows = pa.table({"id": [1, 2, 3]}, schema=SCHEMA)
    write_rows(catalog.table("d.vectors"), rows, commit=commit)


def by_flow(house: House, catalog: Any, commit: tc.CommitAs, folder: Path) -> None:
    args = {"sql": "SELECT id FROM src", "sources": {"src": {"table": "d.src"}}, "name": "f"}
    run_flow(catalog, catalog.table("d.vectors"), args, commit, SqlHere())


def by_files(house: House, catalog: Any, commit: tc.CommitAs, folder: Path) -> None:
    (folder / "rows.csv").write_text("id\n1\n2\n3\n")
    args = {"rows_uri": str(folder / "rows.csv"), "rows_format": "csv"}
    append_files(catalog.table("d.vectors"), args, commit, {})


@pytest.mark.parametrize("write", [by_write, by_flow, by_files])
def test_a_retry_of_a_run_that_died_before_its_compaction_shows_its_rows(
    house: House, write: Callable[..., None], tmp_path: Path
) -> None:
    table = house.catalog.create_table(
        "d.vectors", SCHEMA, primary_key=["id"], options=SHORT | VECTORS
    )

    def dies(call: Call) -> Fault | None:
        second = call.name == "create" and call.path == "snapshot/snapshot-2"
        return Fault.CRASH_BEFORE if second else None

    storage: Any = FaultyStorage(house.catalog.storage, Faults(dies))
    commit = tc.CommitAs(user="u", identifier=1)
    with pytest.raises(Crash):
        write(house, replace(house.catalog, storage=storage), commit, tmp_path)
    assert [s.id for s in table.snapshots()] == [1]
    assert house.ids("d.vectors") == []
    write(house, house.catalog, commit, tmp_path)
    assert house.ids("d.vectors") == [1, 2, 3]


def test_the_rows_of_a_twin_that_died_while_this_run_computed_are_shown_too(house: House) -> None:
    house.catalog.create_table("d.vectors", SCHEMA, primary_key=["id"], options=SHORT | VECTORS)

    def dies(call: Call) -> Fault | None:
        second = call.name == "create" and call.path == "snapshot/snapshot-2"
        return Fault.CRASH_BEFORE if second else None

    storage: Any = FaultyStorage(house.catalog.storage, Faults(dies))
    faulty = replace(house.catalog, storage=storage)
    commit = tc.CommitAs(user="u", identifier=1)
    args = {"sql": "SELECT id FROM src", "sources": {"src": {"table": "d.src"}}, "name": "f"}

    def twin() -> None:
        with pytest.raises(Crash):
            run_flow(faulty, faulty.table("d.vectors"), args, commit, SqlHere())

    engine = BeforeQuery(twin)
    done = run_flow(house.catalog, house.catalog.table("d.vectors"), args, commit, engine)
    assert done.details["replayed"]
    assert house.ids("d.vectors") == [1, 2, 3]
