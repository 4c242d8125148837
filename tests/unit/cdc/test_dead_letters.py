"""A dead letter is a whole event of one source, and can be put back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.cdc.apply.dead_letters import DeadLetters, source_name
from table_core.cdc.source.kafka.records import JsonRecords, record_line
from table_core.cdc.sync.replayed import LetterLines
from table_core.errors import ArgumentError, EventError
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from table_core.position.source import TopicsId
from table_core.validation_errors import unreadable_parts
from tests.unit.cdc.lake import Lake

PLACE = "topic t, partition 0, offset 5"


def letters(lake: Lake) -> list[dict[str, Any]]:
    return sorted(lake.rows("dead"), key=lambda row: str(row["place"]))


def put(lake: Lake, event: bytes, topic_id: str = "a") -> None:
    dead = DeadLetters(catalog=lake.catalog, name="lake.dead")
    dead.source = TopicsId(cluster="c", topics={"t": topic_id})
    dead.put(EventError(f"{PLACE}: bad"), PLACE, event)
    dead.flush()


def test_topics_of_one_name_have_letters_of_their_own(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, b"first", "a")
    put(lake, b"second", "b")
    put(lake, b"second", "b")
    assert sorted(row["event"] for row in letters(lake)) == ["first", "second"]


def test_so_they_have_in_a_table_of_an_earlier_release(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.catalog.create_database("lake")
    names = ("source_table", "column", "value", "reason", "event")
    old = pa.schema(
        [
            pa.field("place", pa.string(), nullable=False),
            *(pa.field(name, pa.string()) for name in names),
            pa.field("seen_at", pa.timestamp("ms", "UTC")),
        ]
    )
    lake.catalog.create_table("lake.dead", old, primary_key=("place",), options={"bucket": "1"})
    put(lake, b"first", "a")
    put(lake, b"second", "b")
    assert [row["place"] for row in letters(lake)] == [f"{PLACE} of kafka c/{n}" for n in "ab"]


def test_a_large_event_is_kept_as_a_whole_and_so_is_one_that_is_no_text(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, b"x" * (3 << 20), "a")
    put(lake, b"\xff\xfe", "b")
    large, strange = sorted(letters(lake), key=lambda row: str(row["source"]))
    assert large["event"] == "x" * (3 << 20)
    assert strange["event_bytes"] == b"\xff\xfe"


def test_a_record_that_cannot_be_read_is_kept_with_its_key() -> None:
    form = JsonRecords(max_bytes=5)
    for value in (b"{ no JSON", b"\xff\xfe\x00", b'{"a": 1234567}'):
        line = record_line(("t", 0, 5), (), b"\x00key", value, form)
        assert unreadable_parts(json.loads(line)["value"]) == (value, b"\x00key")


def test_an_event_of_several_rows_is_one_letter(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.catalog.create_database("lake")
    lake.source = tc.FilesSource(f"file://{lake.events}/*.jsonl", format="canal-json")

    def event(*rows: dict[str, str]) -> dict[str, Any]:
        types = {"id": "int", "v": "int"}
        told = {"database": "s", "table": "t", "type": "INSERT", "isDdl": False, "pkNames": ["id"]}
        return {**told, "mysqlType": types, "data": list(rows), "es": 1, "ts": 1}

    lake.put("a.jsonl", event({"id": "1", "v": "1"}))
    lake.put("b.jsonl", event({"id": "2", "v": "2"}, {"id": "3", "v": "x"}, {"id": "4", "v": "4"}))
    done = lake.sync(dead_letter="lake.dead", primary_key=["id"])
    (letter,) = letters(lake)
    assert (done.details["dead_letters"], [row["id"] for row in lake.rows("t")]) == (1, [1])
    assert [row["id"] for row in json.loads(letter["event"])["data"]] == ["2", "3", "4"]


def test_the_name_of_a_source_is_that_of_its_topic() -> None:
    source = TopicsId(cluster="c", topics={"t, partition 1": "odd", "t": "even"})
    assert source_name(source, PLACE) == "kafka c/even"
    assert source_name(source, "topic t, partition 1, partition 0, offset 5") == "kafka c/odd"


class Letters(Lake):
    """Plain rows, one of which does not fit."""

    def __init__(self, folder: Path, key: tuple[str, ...] = ("id",)) -> None:
        super().__init__(folder)
        self.source = tc.FilesSource(f"file://{self.events}/*.jsonl", format="json")
        self.catalog.create_database("lake")
        columns = pa.schema([pa.field("id", pa.int32(), nullable=not key), ("v", pa.int8())])
        self.catalog.create_table("lake.t", columns, primary_key=key)
        self.put("a.jsonl", {"id": 1, "v": 1}, {"id": 2, "v": 1000}, {"id": 3, "v": 3})
        tc.sync_table(self.catalog, "lake.t", self.source, dead_letter="lake.dead")

    def widen(self) -> None:
        self.catalog.alter_table("lake.t", [tc.UpdateColumnType("v", "INT")])

    def replay(self, **more: Any) -> Any:
        return tc.replay(self.catalog, "lake.t", self.source, "lake.dead", **more)

    def state(self) -> list[tuple[int, int]]:
        return sorted((row["id"], row["v"]) for row in self.rows("t"))


@pytest.mark.parametrize("key", [("id",), ()])
def test_a_letter_that_fits_by_now_is_put_back_once(tmp_path: Path, key: tuple[str, ...]) -> None:
    lake = Letters(tmp_path, key)
    assert lake.replay().details["left"] == 1
    assert (len(letters(lake)), lake.state()) == (1, [(1, 1), (3, 3)])
    lake.widen()
    done = lake.replay()
    assert (done.details["applied"], done.details["left"], letters(lake)) == (1, 0, [])
    assert lake.state() == [(1, 1), (2, 1000), (3, 3)]
    lake.replay()
    lake.put("b.jsonl", {"id": 4, "v": 4})
    tc.sync_table(lake.catalog, "lake.t", lake.source, dead_letter="lake.dead")
    assert lake.state() == [(1, 1), (2, 1000), (3, 3), (4, 4)]


def test_a_row_that_came_later_is_not_overwritten_unasked(tmp_path: Path) -> None:
    lake = Letters(tmp_path)
    lake.put("b.jsonl", {"id": 2, "v": 2})
    tc.sync_table(lake.catalog, "lake.t", lake.source, dead_letter="lake.dead")
    lake.widen()
    assert lake.replay().details["applied"] == 0
    (letter,) = letters(lake)
    assert "may be newer" in letter["reason"]
    assert lake.state()[1] == (2, 2)
    lake.replay(overwrite=True)
    assert (lake.state()[1], letters(lake)) == ((2, 1000), [])


def test_a_replay_that_was_killed_before_it_deleted_letters_adds_no_row_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from table_core.cdc.sync import replay

    lake = Letters(tmp_path, ())
    lake.widen()
    with monkeypatch.context() as patch:
        patch.setattr(replay._Letters, "settle", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            lake.replay()
    assert lake.replay().details["applied"] == 1
    assert (lake.state(), letters(lake)) == ([(1, 1), (2, 1000), (3, 3)], [])


def test_a_job_puts_letters_back(tmp_path: Path) -> None:
    lake = Letters(tmp_path)
    lake.widen()
    job = JobSpec(
        action="replay",
        warehouse=lake.catalog.warehouse,
        table="lake",
        args={
            "source": {"kind": "files", "uri": lake.source.uri, "format": "json"},
            "dead_letter": "lake.dead",
            "synced_table": "t",
        },
    )
    done: Any = run_embedded(job, lambda *_, **__: None)
    assert (done["action"], done["details"]["applied"], done["details"]["left"]) == ("replay", 1, 0)
    assert (lake.state(), letters(lake)) == ([(1, 1), (2, 1000), (3, 3)], [])


def test_letters_of_a_sync_that_was_another_are_refused(tmp_path: Path) -> None:
    lake = Letters(tmp_path)
    with pytest.raises(ArgumentError, match="no sync of this source"):
        tc.replay(lake.catalog, "lake", lake.source, "lake.dead", including="nobody")
    assert len(letters(lake)) == 1


def test_a_line_that_was_too_long_is_read_from_its_file(tmp_path: Path) -> None:
    lake = Letters(tmp_path)
    lake.put("b.jsonl", {"id": 4, "v": 4, "x": "y" * 200}, {"id": 5, "v": 5})
    small = tc.FilesSource(lake.source.uri, format="json", max_event_bytes=100)
    done = tc.sync_table(lake.catalog, "lake.t", small, dead_letter="lake.dead")
    assert (done.details["dead_letters"], lake.state()) == (1, [(1, 1), (3, 3), (5, 5)])
    assert lake.replay().details["applied"] == 1
    assert [row["x"] for row in lake.rows("t") if row["id"] == 4] == ["y" * 200]


def test_letters_of_other_sources_stay(tmp_path: Path) -> None:
    of = LetterLines.is_of
    topics = TopicsId(cluster="c", topics={"t": "new"})
    assert of(topics, "kafka c/old", PLACE)
    assert of(topics, "", PLACE)
    assert not of(topics, "kafka d/old", PLACE)
    assert not of(topics, "kafka c/old", PLACE.replace("topic t", "topic u"))
    lake = Letters(tmp_path)
    lake.widen()
    (tmp_path / "other").mkdir()
    other = tc.FilesSource(f"file://{tmp_path}/other/*.jsonl", format="json")
    done = tc.replay(lake.catalog, "lake.t", other, "lake.dead")
    assert (done.details["applied"], done.details["left"]) == (0, 1)
