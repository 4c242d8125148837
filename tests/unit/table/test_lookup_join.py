"""Goal: a lookup join gives each row the columns of the dimension row with its key.

Method: random rows against a loop over both sides; small tables for states, caches and missing keys.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import table_core as tc
from table_core.errors import ArgumentError, DataError
from table_core.table.api.lookup_join import CACHE
from table_core.table.api.table import Table
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string(), nullable=False),
        ("price", pa.decimal128(9, 2)),
        ("tags", pa.list_(pa.string())),
    ]
)


def dimension(rows: list[dict[str, Any]], **options: str) -> tc.Table:
    catalog = new_catalog()
    table = catalog.create_table(
        "d.items", SCHEMA, primary_key=("id", "region"), options={"bucket": "2", **options}
    )
    write(table, rows)
    return table


def write(table: tc.Table, rows: list[dict[str, Any]]) -> None:
    write_rows(table, pa.Table.from_pylist(rows, schema=SCHEMA))


def item(id: int, region: str = "eu", price: str = "1.00") -> dict[str, Any]:
    return {"id": id, "region": region, "price": Decimal(price), "tags": [region, str(id)]}


@dataclass
class Waited:
    """A clock on which something happens while somebody waits."""

    clock: Any
    then: Any
    slept_ms: list[int] = field(default_factory=list)

    def now_ms(self) -> int:
        return self.clock.now_ms()

    def local_offset_ms(self, at_ms: int) -> int:
        return self.clock.local_offset_ms(at_ms)

    def sleep_ms(self, duration_ms: int) -> None:
        self.slept_ms.append(duration_ms)
        if len(self.slept_ms) == 2:
            self.then()


KEYS = st.tuples(st.integers(0, 6), st.sampled_from(["eu", "us", "é"]))


@given(
    st.dictionaries(KEYS, st.integers(0, 99), max_size=12),
    st.lists(st.tuples(st.none() | st.integers(0, 8), st.sampled_from(["eu", "us", "é", None]))),
    st.sampled_from(["256 mb", "0 b"]),
    st.booleans(),
)
def test_every_row_gets_what_a_loop_finds(
    items: dict[tuple[int, str], int],
    keys: list[tuple[int | None, str | None]],
    memory: str,
    by_both: bool,
) -> None:
    rows = [item(id, region, f"{cents}.50") for (id, region), cents in items.items()]
    table = dimension(rows, **{"lookup.cache-max-memory-size": memory})
    orders = pa.table(
        {
            "n": pa.array(range(len(keys)), pa.int32()),
            "item": pa.array([id for id, _ in keys], pa.int16()),
            "place": pa.array([region for _, region in keys], pa.string()),
        }
    )
    on = {"item": "id", "place": "region"} if by_both else {"item": "id"}
    expected = []
    for order in orders.to_pylist():
        partners = [
            row
            for row in table.read().to_arrow().to_pylist()
            if all(
                order[ours] is not None and order[ours] == row[theirs]
                for ours, theirs in on.items()
            )
        ]
        nothing = dict.fromkeys(SCHEMA.names)
        for row in partners or [nothing]:
            expected.append(order | {k: v for k, v in row.items() if k not in on.values()})
    joined = tc.lookup_join(orders, table, on)
    assert sorted(map(repr, joined.to_pylist())) == sorted(map(repr, expected))
    assert joined["n"].to_pylist() == sorted(joined["n"].to_pylist())


def test_the_state_is_the_one_that_was_asked_for() -> None:
    table = dimension([item(1, price="1.00")])
    table.tags.create("old")
    before = datetime.fromtimestamp(table.latest_snapshot().time_millis / 1000, UTC)
    write(table, [item(1, price="2.00")])
    orders = pa.table({"id": [1]})

    def price(**how: Any) -> str:
        return str(tc.lookup_join(orders, table, ["id"], columns=["price"], **how)["price"][0])

    assert price() == "2.00"
    assert {price(as_of=1), price(as_of="old"), price(as_of=before)} == {"1.00"}
    write(table, [item(1, price="3.00")])
    assert price() == "3.00"


def test_a_missing_key_is_null_or_an_error_or_waited_for() -> None:
    table = dimension([item(1)])
    orders = pa.table({"id": pa.array([1, 2, None], pa.int64())})
    assert tc.lookup_join(orders, table, ["id"])["price"].null_count == 2
    with pytest.raises(DataError, match=r"no row for \{'id': '2'\}, and 1 more"):
        tc.lookup_join(orders, table, ["id"], missing="fail")
    clock = Waited(table.access.clock, lambda: write(table, [item(2)]))
    waiting = Table(replace(table.access, clock=clock))
    found = tc.lookup_join(orders, waiting, ["id"], missing="wait")
    assert (found["price"].null_count, clock.slept_ms) == (1, [200, 400])
    more = pa.table({"id": [3]})
    with pytest.raises(DataError, match="after 0"):
        tc.lookup_join(more, waiting, ["id"], missing="wait", wait_seconds=0.5)


def test_a_dimension_is_read_once_for_each_state_and_a_large_one_is_not_kept() -> None:
    table = dimension([item(id) for id in range(50)])
    orders = pa.table({"id": [1, 2]})
    CACHE.clear()
    first = tc.lookup_join(orders, table, ["id"])
    for file in table.access.live_entries(table.latest_snapshot()):
        name = file.file.file_name
        path = next(p for p in paths(table) if p.endswith(name))
        table.access.storage.delete([path])
    assert tc.lookup_join(orders, table, ["id"]) == first
    CACHE.clear()
    with pytest.raises(tc.errors.TableError):
        tc.lookup_join(orders, table, ["id"])


@pytest.mark.parametrize(("disk", "reads_again"), [("1 gb", False), ("1 kb", True)])
def test_what_is_too_large_for_memory_is_read_once_if_the_disk_has_room(
    disk: str, reads_again: bool
) -> None:
    small = {"lookup.cache-max-memory-size": "1 b", "lookup.cache-max-disk-size": disk}
    table = dimension([item(id) for id in range(500)], **small)
    orders = pa.table({"id": [400, 1, 999, 1]})
    CACHE.clear()
    first = tc.lookup_join(orders, table, ["id"])
    assert first["price"].null_count == 1
    table.access.storage.delete([path for path in paths(table) if "/data-" in path])
    if reads_again:
        with pytest.raises(tc.errors.TableError):
            tc.lookup_join(orders, table, ["id"])
    else:
        assert tc.lookup_join(orders, table, ["id"]) == first
    CACHE.clear()


def paths(table: tc.Table) -> list[str]:
    storage = table.access.storage
    return [
        file.path
        for folder in storage.list("")
        if folder.path.startswith("bucket-")
        for file in storage.list(folder.path)
    ]


def test_what_cannot_be_joined_is_refused_by_name() -> None:
    table = dimension([item(1)])
    orders = pa.table({"id": [1], "price": [1]})
    for how, what in (
        ({"on": []}, "on: name"),
        ({"on": ["nope"]}, "nope"),
        ({"on": {"nope": "id"}}, "no column"),
        ({"on": ["id"]}, "both the rows"),
        ({"on": ["id"], "missing": "maybe"}, "use one of"),
        ({"on": ["id"], "missing": "wait", "as_of": 1}, "past"),
        ({"on": ["id"], "columns": ["nope"]}, "nope"),
    ):
        with pytest.raises(ArgumentError, match=what):
            tc.lookup_join(orders, table, **how)  # type: ignore[arg-type]  # wrong on purpose


# ------------------------------------------------------------------------------- what is kept, and of what
def _price(table: tc.Table, **how: Any) -> list[Any]:
    found = tc.lookup_join(pa.table({"id": [1], "region": ["eu"]}), table, ["id", "region"], **how)
    return [None if p is None else str(p) for p in found["price"].to_pylist()]


def _made(catalog: tc.Catalog, price: str) -> tc.Table:
    table = catalog.create_table(
        "d.items", SCHEMA, primary_key=("id", "region"), options={"bucket": "1"}
    )
    write(table, [item(1, price=price)])
    return table


def test_a_state_is_not_taken_for_that_of_a_table_that_stood_there() -> None:
    catalog = new_catalog()
    first = _made(catalog, "1.00")
    first.tags.create("t")
    for how in ({}, {"as_of": 1}, {"as_of": "t"}):
        assert _price(first, **how) == ["1.00"]
    catalog.drop_table("d.items")
    second = _made(catalog, "2.00")
    second.tags.create("t")
    for how in ({}, {"as_of": 1}, {"as_of": "t"}):
        assert _price(second, **how) == ["2.00"]
        assert _price(first, **how) == ["2.00"]


def test_a_state_is_not_taken_for_one_that_was_rolled_back() -> None:
    table = dimension([item(1, price="1.00")])
    write(table, [item(1, price="2.00")])
    assert _price(table) == _price(table, as_of=2) == ["2.00"]
    table.rollback_to(snapshot=1)
    write(table, [item(1, price="3.00")])
    assert _price(table) == _price(table, as_of=2) == ["3.00"]


def test_a_tag_that_moves_and_a_time_to_come_are_looked_up_again() -> None:
    table = dimension([item(1, price="1.00")])
    table.tags.create("t")
    future = datetime(2999, 1, 1, tzinfo=UTC)
    assert _price(table, as_of="t") == _price(table, as_of=future) == ["1.00"]
    write(table, [item(1, price="2.00")])
    assert _price(table, as_of="t") == ["1.00"]
    table.tags.replace("t")
    assert _price(table, as_of="t") == _price(table, as_of=future) == ["2.00"]


def test_a_column_that_was_dropped_and_added_again_is_another() -> None:
    catalog = new_catalog()
    table = _made(catalog, "1.00")
    assert _price(table) == ["1.00"]
    catalog.alter_table("d.items", [tc.DropColumn("price")])
    catalog.alter_table("d.items", [tc.AddColumn("price", "DECIMAL(9, 2)")])
    assert _price(catalog.table("d.items")) == [None]


def test_two_columns_of_the_rows_may_have_to_equal_one_of_the_table() -> None:
    table = dimension([item(1), item(2)])
    both = pa.table({"a": [1, 1, 2, 3], "b": [1, 2, 2, 3]})
    found = tc.lookup_join(both, table, {"a": "id", "b": "id"}, columns=["region"])
    assert found["region"].to_pylist() == ["eu", None, "eu", None]
    with pytest.raises(DataError) as caught:
        tc.lookup_join(both, table, {"a": "id", "b": "id"}, columns=["region"], missing="fail")
    assert caught.value.facts["value"] == {"a": "1", "b": "2"}
