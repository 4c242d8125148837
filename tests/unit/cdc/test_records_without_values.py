"""A record without a value removes its row, whatever its key's form; columns may be in the key alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.errors import EventError
from tests.unit.cdc.lake import Lake


class Records(Lake):
    """Records of one topic as lines of a file."""

    def __init__(self, folder: Path, key_type: str, format: str = "json") -> None:
        super().__init__(folder)
        self.source = tc.FilesSource(f"file://{self.events}/*.jsonl", format=format)
        self.key, self.count = key_type, 0
        self.catalog.create_database("lake")

    def send(self, *records: tuple[Any, Any], topic: str = "s.shop.t") -> None:
        lines = []
        for key, value in records:
            at = {"topic": topic, "partition": 0, "offset": self.count}
            lines.append({**at, "headers": {}, "key": key, "value": value})
            self.count += 1
        self.put(f"{self.count:06}.jsonl", *lines)

    def table(self, **more: Any) -> Any:
        return tc.sync_table(self.catalog, "lake.t", self.source, primary_key=["id"], **more)

    def ids(self) -> list[Any]:
        return sorted(row["id"] for row in self.rows("t"))


@pytest.mark.parametrize(
    ("ids", "key"),
    [([1, 2], 1), ([1, 2], "1"), (["k1", "k2"], "k1"), (["1", "2"], 1), ([1, 2], {"id": 1})],
)
@pytest.mark.parametrize("apart", [False, True])
def test_its_row_goes(tmp_path: Path, ids: list[Any], key: Any, apart: bool) -> None:
    topic = Records(tmp_path, "INT")
    topic.send(*((n, {"id": n, "v": "x"}) for n in ids))
    if apart:
        topic.table()
    topic.send((key, None))
    topic.table()
    assert topic.ids() == ids[1:]


def test_a_row_may_have_its_key_in_the_record_alone(tmp_path: Path) -> None:
    topic = Records(tmp_path, "INT")
    topic.send((1, {"v": "a"}), ({"id": 2}, {"v": "b"}), (3, {"id": 3, "v": "c"}))
    topic.table()
    topic.send((3, None))
    topic.table()
    assert {row["id"]: row["v"] for row in topic.rows("t")} == {1: "a", 2: "b"}


def test_a_key_that_is_none_of_the_table_adds_no_column(tmp_path: Path) -> None:
    topic = Records(tmp_path, "INT")
    topic.send(({"trace": "x"}, {"id": 1}))
    topic.table()
    assert topic.rows("t") == [{"id": 1}]


def test_a_key_that_names_no_column_is_told(tmp_path: Path) -> None:
    topic = Records(tmp_path, "INT")
    topic.send((1, {"id": 1, "v": 1}), (1, None))
    with pytest.raises(EventError, match="its key 1 names no column"):
        tc.sync_table(topic.catalog, "lake.t", topic.source, primary_key=["id", "v"])


def test_a_record_with_nothing_at_all_says_nothing(tmp_path: Path) -> None:
    topic = Records(tmp_path, "INT")
    topic.send((1, {"id": 1}), (None, None))
    topic.table()
    assert topic.ids() == [1]


def change(op: str, number: int, table: str = "t", **row: Any) -> dict[str, Any]:
    source = {"db": "shop", "table": table, "ts_ms": 5}
    image = {"id": number, **row}
    sides = {"before": image, "after": None} if op == "d" else {"before": None, "after": image}
    return {**sides, "op": op, "source": source, "ts_ms": 7}


@pytest.mark.parametrize("topic", ["s.shop.t", "renamed-by-a-router"])
@pytest.mark.parametrize("apart", [False, True])
def test_a_tombstone_whose_delete_compaction_took_removes_its_row(
    tmp_path: Path, topic: str, apart: bool
) -> None:
    events = Records(tmp_path, "INT", "debezium-json")
    events.send(({"id": 1}, change("c", 1)), ({"id": 2}, change("c", 2)), topic=topic)
    if apart:
        events.table()
    events.send(({"id": 1}, None), topic=topic)
    events.table()
    assert events.ids() == [2]


def test_a_tombstone_behind_its_delete_adds_nothing(tmp_path: Path) -> None:
    events = Records(tmp_path, "INT", "debezium-json")
    events.send(({"id": 1}, change("c", 1)), ({"id": 1}, change("d", 1)), ({"id": 1}, None))
    events.table(options={"changelog-producer": "input"})
    table = events.catalog.table("lake.t")
    kinds = table.changes(after=0, mode="changelog").to_arrow()["_ROW_KIND"].to_pylist()
    assert kinds in (["+I", "-D"], ["-D"], [])


def test_a_row_that_came_back_behind_a_tombstone_stays(tmp_path: Path) -> None:
    events = Records(tmp_path, "INT", "debezium-json")
    events.send(({"id": 1}, None), ({"id": 1}, change("c", 1)), ({"id": 2}, change("c", 2)))
    events.table()
    assert events.ids() == [1, 2]


def test_tombstones_of_a_database_go_to_their_tables(tmp_path: Path) -> None:
    events = Records(tmp_path, "INT", "debezium-json")
    for name in ("a", "b"):
        events.send(({"id": 1}, change("c", 1, name)), topic=f"s.shop.{name}")
    tc.sync_database(events.catalog, "lake", events.source)
    events.send(({"id": 1}, None), topic="s.shop.b")
    tc.sync_database(events.catalog, "lake", events.source)
    assert (len(events.rows("a")), events.rows("b")) == (1, [])


def test_the_key_of_a_tombstone_may_carry_its_schema(tmp_path: Path) -> None:
    events = Records(tmp_path, "INT", "debezium-json")
    member = {"type": "int32", "optional": False, "field": "id"}
    key = {"schema": {"type": "struct", "fields": [member]}, "payload": {"id": 1}}
    events.send((key, change("c", 1)), ({"id": 2}, change("c", 2)))
    events.table()
    events.send((key, None))
    events.table()
    assert events.ids() == [2]
