"""Goal: a drop or rename that fails at any store call loses nothing that it did not drop, shows no
dropped row again, and ends when it is called again.

Method: let each store call of the verb in turn fail, before or after it took effect, and look.
"""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from table_core.datatypes.kinds import Atomic, Root
from table_core.errors import AlreadyExistsError, NotFoundError, TableError
from table_core.storage.stores.faults import Call, Crash, Fault, Faults, FaultyStorage
from tests.tables import write_rows

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
KINDS = (Fault.ERROR_BEFORE, Fault.CRASH_AFTER)


@pytest.fixture(params=["folders", "jdbc"])
def opened(request: pytest.FixtureRequest, tmp_path: Path):
    """Opens the catalog of a new warehouse by its number."""

    def opened(number: int) -> tc.Catalog:
        folder = tmp_path / str(number)
        folder.mkdir(exist_ok=True)
        jdbc = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{folder / 'names.db'}"}
        return tc.open_catalog(str(folder), jdbc if request.param == "jdbc" else None)

    return opened


def filled(catalog: tc.Catalog, name: str, value: int) -> None:
    catalog.create_database(name.partition(".")[0], if_not_exists=True)
    table = catalog.create_table(name, SCHEMA, primary_key=("k",), options={"bucket": "1"})
    for key in (1, 2):
        write_rows(table, pa.table({"k": [key], "v": [value]}, schema=SCHEMA))
    table.tags.create("kept")
    table.branches.create("side", tag="kept")


def values(catalog: tc.Catalog, name: str) -> list[int]:
    return catalog.table(name).read().to_arrow()["v"].to_pylist()


def each_failure(opened, verb):
    """The catalog after ``verb`` has failed at one of its store calls, call by call."""
    numbers = itertools.count()
    for kind in KINDS:
        for at in itertools.count():
            number = next(numbers)
            sound = opened(number)
            filled(sound, "d.t", 1)
            faults = Faults.at({at: kind})
            broken = replace(sound, storage=FaultyStorage(sound.storage, faults))
            with contextlib.suppress(TableError, Crash):
                verb(broken)
            if len(faults.calls) <= at:
                break
            yield opened(number)


def test_rows_of_a_table_whose_drop_failed_never_come_back(opened) -> None:
    failures = 0
    for catalog in each_failure(opened, lambda c: c.drop_table("d.t")):
        failures += 1
        try:
            new = catalog.create_table("d.t", SCHEMA, options={"bucket": "-1"})
        except AlreadyExistsError:  # the drop is not done: it ends when it is called again
            catalog.drop_table("d.t")
            new = catalog.create_table("d.t", SCHEMA, options={"bucket": "-1"})
        assert new.read().to_arrow().num_rows == 0
        assert new.snapshots() == []
        assert new.tags.list() == []
        assert new.branches.list() == []
    assert failures > 10


def test_a_rename_that_failed_leaves_the_table_under_one_of_the_names(opened) -> None:
    failures = 0
    for catalog in each_failure(opened, lambda c: c.rename_table("d.t", "d.u")):
        failures += 1
        names = catalog.tables("d")
        assert names in (["t"], ["u"])
        try:
            assert values(catalog, f"d.{names[0]}") == [1, 1]
        except NotFoundError:  # files and name are apart: the rename ends when it is called again
            catalog.rename_table("d.t", "d.u")
        if catalog.tables("d") == ["t"]:
            catalog.rename_table("d.t", "d.u")
        assert catalog.tables("d") == ["u"]
        assert values(catalog, "d.u") == [1, 1]
    assert failures > 4


def test_a_table_is_not_created_over_what_is_left_of_another(tmp_path: Path) -> None:
    catalog = tc.open_catalog(str(tmp_path))
    filled(catalog, "d.t", 1)
    for schema in (tmp_path / "d.db" / "t" / "schema").iterdir():
        schema.unlink()
    with pytest.raises(AlreadyExistsError, match="delete that folder first"):
        catalog.create_table("d.t", SCHEMA)
    with pytest.raises(AlreadyExistsError, match="delete that folder first"):
        tc.open_table(str(tmp_path / "d.db" / "t"), auto_create=True, schema=SCHEMA)
    assert catalog.tables("d") == []


def test_a_rename_into_no_database_invents_none(opened) -> None:
    catalog = opened(0)
    filled(catalog, "d.t", 1)
    with pytest.raises(NotFoundError, match="no database 'e'"):
        catalog.rename_table("d.t", "e.t")
    assert catalog.databases() == ["d"]
    assert values(catalog, "d.t") == [1, 1]


def test_a_database_is_dropped_table_by_table(opened) -> None:
    catalog = opened(0)
    filled(catalog, "d.t", 1)
    filled(catalog, "d.u", 2)
    catalog.drop_database("d", cascade=True)
    assert catalog.databases() == []
    catalog.create_database("d")
    assert catalog.tables("d") == []


@pytest.mark.parametrize("fails", [False, True])
def test_an_alter_that_is_done_looks_once_more_and_does_not_fail_for_it(
    opened, fails: bool
) -> None:
    """A store that fails then does not say of a change that was made that it was not."""
    sound = opened(0)
    filled(sound, "d.t", 1)

    def decide(call: Call) -> Fault | None:
        is_look = call.name == "read" and any(c.name == "create" for c in faults.calls)
        return Fault.ERROR_BEFORE if fails and is_look else None

    faults = Faults(decide)
    watched = replace(sound, storage=FaultyStorage(sound.storage, faults))
    table = watched.alter_table("d.t", [tc.AddColumn("c", Atomic(Root.INT))])
    calls = [(call.name, call.path.rpartition("/")[2]) for call in faults.calls]
    assert calls[[name for name, _ in calls].index("create") :] == [
        ("create", "schema-1"),
        ("read", "schema-0"),
    ]
    assert table.arrow_schema.names == ["k", "v", "c"]
    assert values(sound, "d.t") == [1, 1]


def test_a_table_that_is_created_asks_the_store_for_nothing_more(opened) -> None:
    """What it answers is what it has stored, as another handle reads it."""
    sound = opened(0)
    faults = Faults.at({})
    watched = replace(sound, storage=FaultyStorage(sound.storage, faults))
    watched.create_database("d", if_not_exists=True)
    table = watched.create_table("d.fresh", SCHEMA, options={"bucket": "-1"})
    assert [call.name for call in faults.calls].index("create") == len(faults.calls) - 1
    assert table.definition == sound.table("d.fresh").definition
    assert table.birth == sound.table("d.fresh").birth
