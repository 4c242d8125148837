"""Where readers of real tables stand, after everything that can happen to a table."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import NotFoundError, PositionDivergedError
from table_core.position.document import Position
from table_core.position.place import SnapshotPlace
from table_core.position.reader import Reader, ReaderKind
from table_core.table.metadata.positions import came_to, place_at, table_id, table_now
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([("id", pa.int64())])


def warehouse() -> tc.Catalog:
    return new_catalog()


def grow(catalog: tc.Catalog, to: int, name: str = "d.t", branch: str | None = None) -> tc.Table:
    table = catalog.table(name, branch=branch)
    while (table.latest_snapshot().id if table.latest_snapshot() else 0) < to:  # type: ignore[union-attr]
        write_rows(table, pa.table({"id": [1]}))
    return table


def position(table: tc.Table, id: int) -> Position:
    reader = Reader(ReaderKind.FLOW, "f")
    return Position(reader, table_id(table.access), place_at(table.access, id))


def where(table: tc.Table, stored: Position) -> SnapshotPlace | None:
    assert isinstance(stored.place, SnapshotPlace)
    return came_to(stored, table_now(table.access, stored.place))


def made() -> tuple[tc.Catalog, Position]:
    catalog = warehouse()
    catalog.create_table("d.t", SCHEMA, options={"snapshot.num-retained.min": "1"})
    return catalog, position(grow(catalog, 3), 3)


def rolled_back(catalog: tc.Catalog) -> None:
    catalog.table("d.t").rollback_to(snapshot=1)


def rolled_back_and_on(catalog: tc.Catalog) -> None:
    rolled_back(catalog)
    grow(catalog, 5)


def fast_forwarded(catalog: tc.Catalog) -> None:
    table = catalog.table("d.t")
    table.branches.create("b", snapshot=2)
    grow(catalog, 6, branch="b")
    table.branches.fast_forward("b")


def made_anew(catalog: tc.Catalog) -> None:
    catalog.drop_table("d.t")
    catalog.create_table("d.t", SCHEMA)
    grow(catalog, 4)


def made_anew_and_expired(catalog: tc.Catalog) -> None:
    made_anew(catalog)
    grow(catalog, 6).expire_snapshots(retain_max=1, retain_min=1)


def renamed_onto(catalog: tc.Catalog) -> None:
    catalog.create_table("d.u", SCHEMA)
    grow(catalog, 5, "d.u")
    catalog.rename_table("d.t", "d.old")
    catalog.rename_table("d.u", "d.t")


@pytest.mark.parametrize(
    "done",
    [
        rolled_back,
        rolled_back_and_on,
        fast_forwarded,
        made_anew,
        made_anew_and_expired,
        renamed_onto,
    ],
)
def test_what_a_reader_has_read_and_is_gone_is_said(done: Callable[[tc.Catalog], None]) -> None:
    catalog, stored = made()
    done(catalog)
    with pytest.raises(PositionDivergedError):
        where(catalog.table("d.t"), stored)


def test_a_reader_goes_on_past_commits_expiry_and_renames_and_on_a_branch_that_began_there() -> (
    None
):
    catalog, stored = made()
    assert where(catalog.table("d.t"), stored) == stored.place
    grow(catalog, 6).branches.create("b", snapshot=4)
    assert where(catalog.table("d.t"), stored) == stored.place
    at_four = position(catalog.table("d.t"), 4)
    assert where(catalog.table("d.t", branch="b"), at_four) == at_four.place
    catalog.table("d.t").expire_snapshots(retain_max=1, retain_min=1)
    assert where(catalog.table("d.t"), stored) == stored.place
    catalog.rename_table("d.t", "d.u")
    assert where(catalog.table("d.u"), stored) == stored.place


def test_a_handle_that_outlives_its_table_tells_the_birth_of_the_one_that_is_there() -> None:
    catalog, _ = made()
    old = catalog.table("d.t")
    born = old.birth
    assert catalog.table("d.t").birth == born
    catalog.alter_table("d.t", [tc.AddColumn("v", "STRING")])
    assert catalog.table("d.t").birth == born
    made_anew(catalog)
    assert old.birth == catalog.table("d.t").birth != born
    catalog.drop_table("d.t")
    with pytest.raises(NotFoundError):
        _ = old.birth
