"""Partitions are marked by ``_SUCCESS`` files."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import ArgumentError
from table_core.table.api.state_jobs import create_branch as make_branch
from table_core.table.api.state_jobs import fast_forward
from tests.tables import new_catalog, write_rows
from tests.unit.key_tables import on_branch

SCHEMA = pa.schema(
    [pa.field("dt", pa.date32()), pa.field("h", pa.string()), pa.field("v", pa.int32())]
)


def create(**options: str) -> Any:
    catalog = new_catalog()
    given = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    return catalog.create_table("d.t", SCHEMA, partition_by=("dt", "h"), options=given)


def fill(table: Any, *partitions: tuple[int, str]) -> Any:
    """The table with a row in each: of a day of January 2026, and ``h``."""
    days, hours = [dt.date(2026, 1, day) for day, _ in partitions], [h for _, h in partitions]
    with table.write() as writer:
        rows = pa.table({"dt": days, "h": hours, "v": [1] * len(days)}, schema=SCHEMA)
        writer.write(rows)
        writer.commit()
    return table


def marks(table: Any) -> dict[str, dict[str, int]]:
    storage = table.access.storage
    found = [i.path for i in storage.walk("") if i.path.endswith("_SUCCESS")]
    return {path: json.loads(storage.read(path)) for path in found}


def test_a_mark_says_when_and_a_second_one_only_moves_on() -> None:
    table = fill(create(), (1, "a/b"), (2, "x"))
    spec = {"dt": dt.date(2026, 1, 1), "h": "a/b"}
    done = table.mark_done([spec])
    path = "dt=20454/h=a%2Fb/_SUCCESS"
    assert done.details["marked"] == [{"path": path, "again": False}]
    first = marks(table)[path]
    assert set(first) == {"creationTime", "modificationTime"}
    assert table.mark_done([spec, {"h": "x", "dt": "2026-01-02"}]).details["marked"] == [
        {"path": path, "again": True},
        {"path": "dt=20455/h=x/_SUCCESS", "again": False},
    ]
    again = marks(table)[path]
    assert again["creationTime"] == first["creationTime"] <= again["modificationTime"]


def test_a_mark_is_no_orphan_and_no_row() -> None:
    table = fill(create(), (1, "x"))
    table.mark_done([{"dt": "2026-01-01", "h": "x"}])
    soon = table.access.clock.now_ms() + 60_000
    done = table.remove_orphan_files(older_than=soon, allow_young=True)
    assert (done.files_deleted, done.details["foreign"]) == (0, [])
    assert len(marks(table)) == 1
    assert table.read().to_arrow().num_rows == 1


@pytest.mark.parametrize("spec", [{}, {"dt": "2026-01-01"}, {"dt": "x", "h": "1"}, {"z": 1}])
def test_what_names_no_partition_is_refused(spec: dict[str, object]) -> None:
    with pytest.raises(tc.errors.ArgumentError, match="partition"):
        create().mark_done([spec])


def test_other_actions_are_refused_by_name() -> None:
    table = create(partition__mark_done_action="success-file, http-report")
    with pytest.raises(tc.errors.UnsupportedFeatureError, match="http-report"):
        table.mark_done([{"dt": "2026-01-01", "h": "x"}])
    assert not marks(table)


def test_a_done_partition_is_a_folder_beside_and_an_event_is_told() -> None:
    table = fill(create(partition__mark_done_action="done-partition,mark-event"), (1, "a/b"))
    done = table.mark_done([{"dt": "2026-01-01", "h": "a/b"}]).details
    assert [mark["path"] for mark in done["marked"]] == ["dt=20454/h=a%2Fb.done/_SUCCESS"]
    assert done["events"] == [{"dt": "2026-01-01", "h": "a/b"}]
    write_rows(table, pa.table({"dt": [None], "h": ["x"], "v": [1]}, schema=SCHEMA))
    soon = table.access.clock.now_ms() + 60_000
    left = table.remove_orphan_files(older_than=soon, allow_young=True)
    assert (left.files_deleted, left.details["foreign"]) == (0, [])
    assert list(marks(table)) == ["dt=20454/h=a%2Fb.done/_SUCCESS"]


class Ticking:
    """A clock on which no two moments are one."""

    def __init__(self) -> None:
        self.at_ms = 1_700_000_000_000

    def now_ms(self) -> int:
        self.at_ms += 1
        return self.at_ms

    def local_offset_ms(self, _: int) -> int:
        return 0


def test_what_is_written_to_be_published_is_marked_when_main_takes_it_over() -> None:
    table = create(bucket="-1", partition__end_input_to_done="true")
    table = tc.Table(replace(table.access, clock=Ticking()))
    fill(table, (1, "a"))
    assert [values["h"] for values, _ in table.done_partitions()] == ["a"]
    [(_, before_ms)] = table.done_partitions()
    make_branch(table, {"name": "b", "from_head": True, "to_publish": True})
    fill(on_branch(table, "b"), (1, "a"), (2, "b"))
    assert [at_ms for _, at_ms in table.done_partitions()] == [before_ms]
    assert (
        on_branch(table, "b").partition({"dt": "2026-01-02", "h": "b"}, with_done=True).done_ms
        is None
    )
    fast_forward(table, {"branch": "b"})
    marks = table.done_partitions(before_ms)
    assert sorted(values["h"] for values, _ in marks) == ["a", "b"]
    fast_forward(table, {"branch": "b"})
    assert table.done_partitions(before_ms) == marks, "a retry marks nothing again"
    for path in [f.path for f in table.access.storage.walk("") if f.path.endswith("_SUCCESS")]:
        table.access.storage.delete([path])
    fast_forward(table, {"branch": "b"})
    assert len(table.done_partitions()) == 2, "what a run that was cut short has left out"


def test_a_branch_that_is_to_be_published_is_not_marked_by_hand() -> None:
    table = fill(create(), (1, "a"))
    make_branch(table, {"name": "b", "from_head": True, "to_publish": True})
    branch = on_branch(table, "b")
    for asked in ({"partitions": [{"dt": "2026-01-01", "h": "a"}]}, {"idle_time": "0 s"}):
        with pytest.raises(ArgumentError, match=r"not published yet.*partition\.end-input-to-done"):
            branch.mark_done(**asked)
    assert marks(table) == {}


def test_who_publishes_by_hand_marks_too() -> None:
    table = create(bucket="-1", partition__end_input_to_done="true")
    make_branch(table, {"name": "b", "from_head": True, "to_publish": True})
    fill(on_branch(table, "b"), (2, "b"))
    assert table.done_partitions() == []
    table.branches.fast_forward("b")
    assert [values["h"] for values, _ in table.done_partitions()] == ["b"]


def test_what_is_written_to_any_other_branch_is_marked_at_once() -> None:
    table = create(bucket="-1", partition__end_input_to_done="true")
    fill(table, (1, "a"))
    make_branch(table, {"name": "b", "from_head": True})
    fill(on_branch(table, "b"), (2, "b"))
    assert on_branch(table, "b").partition({"dt": "2026-01-02", "h": "b"}, with_done=True).done_ms


DROPS = {
    "expire": lambda t: t.expire_partitions(expiration_time="1 d"),
    "drop": lambda t: t.drop_partitions([{"h": "2020-01-01"}]),
}


@pytest.mark.parametrize("drop", DROPS)
def test_the_mark_beside_a_partition_goes_with_it(drop: str) -> None:
    table = fill(
        create(
            partition__mark_done_action="done-partition,success-file",
            partition__timestamp_pattern="$h",
            partition__timestamp_formatter="yyyy-MM-dd",
            partition__expiration_batch_size="1",
        ),
        *((day, h) for day in (1, 2) for h in ("2020-01-01", "2099-01-01")),
    )
    table.mark_done(
        [{"dt": f"2026-01-0{d}", "h": h} for d in (1, 2) for h in ("2020-01-01", "2099-01-01")]
    )
    DROPS[drop](table)
    assert [path for path in marks(table) if ".done" in path] == [
        f"dt={day}/h=2099-01-01.done/_SUCCESS" for day in (20454, 20455)
    ]


def test_a_branch_leaves_the_marks_of_main() -> None:
    table = fill(create(partition__mark_done_action="done-partition", bucket="-1"), (1, "a"))
    table.mark_done([{"dt": "2026-01-01", "h": "a"}])
    make_branch(table, {"name": "b", "from_head": True})
    fill(on_branch(table, "b"), (1, "a"))
    on_branch(table, "b").drop_partitions([{"h": "a"}])
    assert list(marks(table)) == ["dt=20454/h=a.done/_SUCCESS"]


def test_partitions_that_are_not_there_are_not_told_as_dropped() -> None:
    table = fill(create(), (1, "a"), (2, "b"))
    asked = [{"h": "a"}, {"dt": "2031-01-01"}]
    as_ = tc.CommitAs(user="u", identifier=1)
    told = {"partitions": [{"h": "a"}], "absent": [{"dt": "2031-01-01"}]}
    for done in (
        table.drop_partitions(asked, dry_run=True),
        table.drop_partitions(asked, commit=as_),
        table.drop_partitions(asked, commit=as_),
    ):
        assert {name: done.details[name] for name in told} == told
    none = table.drop_partitions(asked)
    assert (none.details["partitions"], none.details["absent"]) == ([], asked)
    assert none.snapshot_before == none.snapshot_after
