"""Two copies to one name at once: one of them is made, whole, and the other is refused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.storage.stores.faults import Call, Faults, FaultyStorage
from tests.lanes import sampled
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])


def house(uri: str | None = None) -> tc.Catalog:
    """``d.t`` with an older and a newer schema, and ``d.other`` of other rows."""
    catalog = new_catalog(uri)
    table = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options={"bucket": "1"})
    write_rows(table, pa.table({"k": [1], "v": ["a"]}, schema=SCHEMA))
    catalog.alter_table("d.t", [tc.AddColumn("more", "INT")])
    table = catalog.table("d.t")
    write_rows(table, pa.table({"k": [2], "v": ["b"], "more": [7]}, schema=table.arrow_schema))
    other = catalog.create_table("d.other", SCHEMA)
    write_rows(other, pa.table({"k": [9], "v": ["z"]}, schema=SCHEMA))
    return catalog


def put(table: tc.Table, key: int) -> None:
    columns = {"k": [key], "v": ["new"], "more": [None]}
    arrow = table.arrow_schema
    write_rows(table, pa.table({n: columns[n] for n in arrow.names}, schema=arrow))


def rows(table: tc.Table) -> list[dict[str, Any]]:
    return sorted(table.read().to_arrow().to_pylist(), key=lambda row: row["k"])


STATES: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "the same state": (
        {"name": "d.t"},
        [{"k": 1, "v": "a", "more": None}, {"k": 2, "v": "b", "more": 7}],
    ),
    "an older state": ({"name": "d.t", "snapshot": 1}, [{"k": 1, "v": "a"}]),
    "another table": ({"name": "d.other"}, [{"k": 9, "v": "z"}]),
}


def attempt(copy: Callable[[], object]) -> bool:
    try:
        copy()
    except tc.errors.AlreadyExistsError:
        return False
    return True


def made(first: str, second: str, at: int) -> bool:
    """Make ``second`` whole before call ``at`` of ``first``, and look; whether there is such a call."""
    catalog, met, landed = house(), False, [False, False]

    def meanwhile(call: Call) -> None:
        nonlocal met
        if call.index == at:
            met = True
            landed[1] = attempt(lambda: catalog.clone_table(**STATES[second][0], to_name="d.u"))

    slow = replace(catalog, storage=FaultyStorage(catalog.storage, Faults(meanwhile)))
    landed[0] = attempt(lambda: slow.clone_table(**STATES[first][0], to_name="d.u"))
    if met:
        assert landed.count(True) == 1, at
        expected = STATES[second if landed[1] else first][1]
        table = catalog.table("d.u")
        assert rows(table) == expected, (at, landed)
        put(table, 5)
        table.compact(strategy="full")
        assert len(rows(table)) == len(expected) + 1, at
    return met


@pytest.mark.parametrize(("first", "second"), sampled(product(STATES, STATES), 3, first=1))
def test_one_of_two_copies_is_made_and_the_other_is_refused(first: str, second: str) -> None:
    calls = 0
    while made(first, second, calls):
        calls += 1
    assert calls > 20


def test_a_file_that_an_earlier_copy_left_cut_short_is_copied_anew(tmp_path: Path) -> None:
    catalog = house(tmp_path.as_uri())
    source = catalog.table("d.t").access
    (path, *_) = [i.path for i in source.storage.walk("") if "bucket-0" in i.path]
    torn = tmp_path / "d.db" / "u" / path
    torn.parent.mkdir(parents=True)
    torn.write_bytes(b"PAR1")
    catalog.clone_table("d.t", "d.u")
    assert rows(catalog.table("d.u")) == rows(catalog.table("d.t"))
    assert not [i.path for i in source.storage.walk("") if i.path.endswith(".tmp")]


def test_a_table_that_is_made_anew_while_it_is_copied_gives_the_copy_no_columns() -> None:
    catalog = house()
    expected = rows(catalog.table("d.other"))
    places = Faults.none()
    copied = replace(catalog, storage=FaultyStorage(catalog.storage, places))
    copied.clone_table("d.other", "d.planned")
    for place in places.calls:
        now, met = house(), list[bool]()

        def meanwhile(call: Call, at: int = place.index, now: Any = now, met: Any = met) -> None:
            if call.index == at:
                now.drop_table("d.other")
                now.create_table("d.other", pa.schema([("text", pa.string())]))
                met.append(True)

        with suppress(tc.errors.NotFoundError, tc.errors.FilesExpiredError):
            faulty = FaultyStorage(now.storage, Faults(meanwhile))
            replace(now, storage=faulty).clone_table("d.other", "d.copy")
            assert met
            assert rows(now.table("d.copy")) in (expected, []), place
            assert len(now.table("d.copy").arrow_schema) == (2 if rows(now.table("d.copy")) else 1)
