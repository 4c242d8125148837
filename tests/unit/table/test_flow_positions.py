"""Flows: whose position it is, of which table, and what happens where that is no longer so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import ArgumentError, CommitConflictError, PositionDivergedError
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
    return House()


def renamed_onto(house: House) -> None:
    house.catalog.drop_table("d.other")
    house.make("d.other")  # later than the one that it takes the place of
    for id in (20, 21, 22, 23):
        house.put(id, name="d.other")
    house.catalog.rename_table("d.src", "d.gone")
    house.catalog.rename_table("d.other", "d.src")


@pytest.mark.parametrize("done", [grown_again, fast_forwarded, made_anew, renamed_onto])
@pytest.mark.parametrize("expired", [False, True])
def test_a_source_that_is_no_longer_what_was_read_is_said_before_anything_is_skipped(
    house: House, done: Callable[[House], None], expired: bool
) -> None:
    for id in (1, 2, 3):
        house.put(id)
    house.run()
    done(house)
    if expired:
        house.catalog.table("d.src").expire_snapshots(retain_max=1, retain_min=1)
    with pytest.raises(PositionDivergedError) as caught:
        house.run()
    assert caught.value.facts["reason"] in {"rolled-back", "made-anew"}
    assert house.ids() == [1, 2, 3]


def test_a_source_that_was_renamed_with_its_flow_is_read_on(house: House) -> None:
    house.put(1)
    house.run(name="f")
    house.catalog.rename_table("d.src", "d.moved")
    house.put(2, name="d.moved")
    house.run(name="f", sources={"src": {"table": "d.moved", "mode": "changes"}})
    assert house.ids() == [1, 2]


def test_two_views_of_one_table_see_the_same_changes(house: House) -> None:
    both = {v: {"table": "d.src", "mode": "changes"} for v in ("x", "y")}
    both["z"] = {"table": "d.src"}
    sql = "SELECT x.id FROM x JOIN y ON x.id = y.id JOIN z ON x.id = z.id"
    for id in (1, 2, 3):
        house.put(id)
        house.run(sql, name="f", sources=both)
    assert house.ids() == [1, 2, 3]


def test_a_view_may_get_another_name(house: House) -> None:
    house.put(1)
    house.run(task="dag.t")
    house.put(2)
    house.run(
        "SELECT id FROM s", task="dag.t", sources={"s": {"table": "d.src", "mode": "changes"}}
    )
    house.put(3)
    house.run(task="dag.t")
    assert house.ids() == [1, 2, 3]


def test_rows_that_an_overwrite_brought_are_not_passed_over(house: House) -> None:
    house.put(1)
    house.run()
    house.put(2)
    house.put(5, overwrite="table")
    with pytest.raises(PositionDivergedError, match="overwritten"):
        house.run()
    assert house.ids() == [1]


def test_changes_that_have_expired_unread_are_said_with_the_ways_out(house: House) -> None:
    house.put(1)
    house.run()
    for id in (2, 3, 4):
        house.put(id)
    source = house.catalog.table("d.src")
    source.consumers.clear()
    source.expire_snapshots(retain_max=1, retain_min=1)
    with pytest.raises(PositionDivergedError, match="has expired before it was read") as told:
        house.run()
    assert told.value.facts["reason"] == "expired"
    assert house.ids() == [1]
    house.catalog.table("d.out").positions.set("tc.flow.src", snapshot=3, source=source)
    house.run()
    assert house.ids() == [1, 4]


def test_rows_that_are_only_taken_away_do_not_stop_a_flow(house: House) -> None:
    house.put(1)
    house.run()
    house.catalog.table("d.src").truncate()
    house.put(2)
    house.run()
    assert house.ids() == [1, 2]


def test_rows_that_are_deleted_or_only_written_anew_do_not_stop_a_flow(house: House) -> None:
    house.catalog.drop_table("d.src")
    house.catalog.create_table(
        "d.src", SCHEMA, options={"bucket": "1", "bucket-key": "id", **SHORT}
    )
    house.put(1, 2, 3)
    house.run()
    src = house.catalog.table("d.src")
    src.delete("id = 1")
    src.rescale(2)
    house.put(4)
    house.run()
    assert house.ids() == [1, 2, 3, 4]
    house.catalog.table("d.src").update({"id": "id + 10"}, "id = 4")
    with pytest.raises(PositionDivergedError, match="overwritten"):
        house.run()


# ------------------------------------------------------------------------------------- names
def test_two_flows_into_one_table_with_one_view_name_take_all_of_their_sources(
    house: House,
) -> None:
    house.put(1, 2)
    house.put(7, name="d.other")
    other = {"src": {"table": "d.other", "mode": "changes"}}
    for _ in range(2):
        house.run()
        house.run(sources=other)
    assert house.ids() == [1, 2, 7]
    house.put(3)
    house.put(8, name="d.other")
    house.run(sources=other)
    house.run()
    assert house.ids() == [1, 2, 3, 7, 8]


@pytest.mark.parametrize("how", ["name", "task"])
def test_two_flows_that_filter_one_source_each_take_their_rows_once(house: House, how: str) -> None:
    flows = [
        ("SELECT id FROM src WHERE id % 2 = 0", "even"),
        ("SELECT id FROM src WHERE id % 2 = 1", "odd"),
    ]
    house.put(1, 2)
    if how == "task":  # nobody said which is which: the second is not guessed about
        house.run(flows[0][0], task="even")
        with pytest.raises(PositionDivergedError, match="another name"):
            house.run(flows[1][0], task="odd")
        return
    for id in (3, 4):
        for sql, name in flows:
            house.run(sql, name=name)
        house.put(id)
    for sql, name in flows:
        house.run(sql, name=name)
    assert house.ids() == [1, 2, 3, 4]
    held = house.catalog.table("d.src").consumers.list()
    assert len(held) == 2


def test_a_flow_is_known_again_under_another_task_name_or_with_other_sql_or_once_it_is_named(
    house: House,
) -> None:
    house.put(1)
    house.run(task="dag.old")
    house.put(2)
    house.run(task="dag.new")
    house.put(3)
    house.run("SELECT id + 0 AS id FROM src", task="dag.new")
    house.put(4)
    house.run("SELECT id + 0 AS id FROM src", task="dag.new", name="f")
    house.put(5)
    house.run("SELECT id FROM src", task="dag.third", name="f")
    assert house.ids() == [1, 2, 3, 4, 5]
    with pytest.raises(PositionDivergedError):
        house.run("SELECT id - 0 AS id FROM src", task="dag.fourth")


@pytest.mark.parametrize("flow", [{"task": "dag.t"}, {"name": "src"}, {"name": "f"}])
@pytest.mark.parametrize("text", ["1", ""])
def test_a_property_that_should_hold_a_position_and_holds_something_else_is_refused(
    house: House, flow: dict[str, str], text: str
) -> None:
    for id in (1, 2):
        house.put(id)
    write_rows(
        house.catalog.table("d.out"),
        pa.table({"id": [1]}),
        commit=tc.CommitAs(properties={"tc.flow.src": text}),
    )
    with pytest.raises(PositionDivergedError, match=r"'tc\.flow\.src' holds") as told:
        house.run(**flow)
    assert told.value.facts["reason"] == "unreadable"
    assert (house.ids(), house.catalog.table("d.src").consumers.list()) == ([1], {})
    house.catalog.table("d.out").positions.set(
        "tc.flow.src", snapshot=1, source=house.catalog.table("d.src"), reader=flow.get("name")
    )
    house.run(name=flow.get("name", "src"))
    house.put(3)
    house.run(name=flow.get("name", "src"))
    assert house.ids() == [1, 2, 3]


def test_flows_of_targets_whose_names_join_to_one_text_hold_their_own_consumers(
    house: House,
) -> None:
    house.make("d.a-b")
    house.make("d.a")
    house.put(1)
    for target, view in (("d.a-b", "c"), ("d.a", "b-c"), ("d.a$branch_x", "b-c")):
        if "$" in target:
            house.catalog.table("d.a").branches.create("x")
        house.run(
            f'SELECT id FROM "{view}"',
            target=target,
            sources={view: {"table": "d.src", "mode": "changes"}},
        )
    assert len(house.catalog.table("d.src").consumers.list()) == 3


@pytest.mark.parametrize("name", ["orders.pos", "pos"])
def test_a_position_that_nobody_would_carry_on_is_refused(house: House, name: str) -> None:
    house.put(1)
    sources = {"src": {"table": "d.src", "mode": "changes", "position": name}}
    with pytest.raises(ArgumentError, match="cannot name a position"):
        house.run(sources=sources)
    assert house.ids() == []


def test_views_that_sql_does_not_tell_apart_are_refused(house: House) -> None:
    both = {"src": {"table": "d.src", "mode": "changes"}, "Src": {"table": "d.other"}}
    with pytest.raises(ArgumentError, match="cannot distinguish"):
        house.run(sources=both)
    wait = {"table": "wait.src", "sql": "SELECT id FROM src WHERE id > 5"}
    with pytest.raises(ArgumentError, match="view"):
        house.run(pending=wait)
    house.put(1, 9)
    pending = {**wait, "view": "waiting"}
    house.run("SELECT id FROM src WHERE id <= 5", pending=pending)
    assert (house.ids(), house.ids("wait.src")) == ([1], [9])


# -------------------------------------------------------------------------------- first runs
def test_a_first_run_computes_though_its_sources_are_empty(house: House) -> None:
    count = "SELECT count(*) AS id FROM src"
    house.run(count)
    house.run(count)
    assert house.ids() == [0]
    house.put(5, name="d.other")
    house.put(9)
    house.run("SELECT id FROM o", sources={"o": {"table": "wait.rest"}}, overwrite="table")
    assert house.ids() == []


class Beside(SqlHere):
    """Something else goes on between what is pinned and what is committed."""

    def __init__(self, what: Callable[[], object], before_write: int = 2) -> None:
        super().__init__()
        self.what: Callable[[], object] | None = what
        self.writes, self.before_write = 0, before_write

    def write(
        self, table: tc.Table, rows: Any, commit: Any, overwrite: Any, *, is_new: bool = False
    ) -> Any:
        self.writes += 1
        if self.writes == self.before_write and self.what is not None:
            what, self.what = self.what, None
            what()
        return super().write(table, rows, commit, overwrite, is_new=is_new)


PENDING = {"table": "wait.rest", "sql": "SELECT id FROM src UNION ALL SELECT id FROM rest"}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("waits", [1, 2], ids=["before its rows wait", "after its rows wait"])
def test_a_run_beside_another_leaves_what_the_next_one_reads(
    house: House, first: bool, named: bool, waits: int
) -> None:
    """The one that loses, or is a replay, holds nothing forward."""
    house.put(1)
    name = tc.CommitAs(user="u", identifier=7) if named else tc.CommitAs()
    query = "SELECT id FROM src WHERE false"
    if not first:
        house.run(query, pending=PENDING)
        house.put(2)

    def other() -> None:
        house.run(query, pending=PENDING, commit=name)

    if named:
        house.run(query, pending=PENDING, commit=name, engine=Beside(other, waits))
    else:
        with pytest.raises(CommitConflictError):
            house.run(query, pending=PENDING, commit=name, engine=Beside(other, waits))
    for table in ("wait.rest", "d.src", "d.out"):
        house.catalog.table(table).expire_snapshots(retain_max=1, retain_min=1)
    house.put(3)
    house.run(query, pending=PENDING)
    for table in ("wait.rest", "d.src", "d.out"):
        house.catalog.table(table).expire_snapshots(retain_max=1, retain_min=1)
    assert house.ids("wait.rest") == ([1, 3] if first else [1, 2, 3])


def test_a_run_puts_a_consumer_back_that_stands_behind_its_position(house: House) -> None:
    house.put(1)
    house.run()
    house.put(2)
    src = house.catalog.table("d.src")
    [name] = src.consumers.list()
    src.consumers.reset(name, 3)
    seen: list[int] = []
    house.run(engine=Beside(lambda: seen.append(src.consumers.get(name)), 1))
    assert seen == [1]
    assert house.ids() == [1, 2]


def test_a_query_of_tables_that_stay_empty_is_computed_in_each_run(house: House) -> None:
    for day in (1, 2, 3):
        sql = f"SELECT CAST({day} AS BIGINT) AS id FROM (SELECT count(*) AS n FROM src) AS counted"
        house.run(sql, sources={"src": {"table": "d.src"}}, name="counts")
    assert house.ids() == [1, 2, 3]
