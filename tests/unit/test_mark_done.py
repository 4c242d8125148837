"""Partitions are marked by ``_SUCCESS`` files."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from tests.tables import new_catalog, write_rows

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
