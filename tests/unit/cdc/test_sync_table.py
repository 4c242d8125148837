"""``sync_table`` against a warehouse in a folder: rows, position, retries, faults."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.cdc.apply import run
from table_core.cdc.source import lines as windows
from table_core.cdc.sync.sync import sync_from_spec, sync_table
from table_core.errors import (
    ArgumentError,
    CommitConflictError,
    DataError,
    EventError,
    UnsupportedFeatureError,
)
from tests.clocks import SetClock
from tests.unit.cdc.feed import event, lines

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])


class Shop:
    """A warehouse with table ``shop.customers``, and a folder of events."""

    def __init__(self, folder: Path) -> None:
        self.events = folder / "events"
        self.events.mkdir()
        self.catalog = tc.open_catalog(f"file://{folder}/wh")
        self.catalog.create_database("shop")
        self.source = tc.FilesSource(f"file://{self.events}/*.jsonl*")

    def create(self, **options: str) -> Any:
        return self.catalog.create_table(
            "shop.customers", SCHEMA, primary_key=("id",), options={"bucket": "2", **options}
        )

    def put(self, name: str, *values: Any) -> None:
        body = lines(*values)
        (self.events / name).write_bytes(gzip.compress(body) if name.endswith("gz") else body)

    def append(self, name: str, *values: Any) -> None:
        with (self.events / name).open("ab") as file:
            file.write(lines(*values))

    def sync(self, source: Any = None, **kwargs: Any) -> Any:
        return sync_table(self.catalog, "shop.customers", source or self.source, **kwargs)

    @property
    def table(self) -> Any:
        return self.catalog.table("shop.customers")

    def rows(self) -> dict[int, Any]:
        return {row["id"]: row for row in self.table.read().to_arrow().to_pylist()}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def new(id: int, name: str = "x", **more: Any) -> dict[str, Any]:
    return event("c", None, {"id": id, "name": name, **more})


def test_events_become_rows_and_are_read_once(shop: Shop) -> None:
    shop.create()
    shop.put("1.jsonl", new(1), new(2), event("u", {"id": 1, "name": "x"}, {"id": 1, "name": "y"}))
    shop.put("2.jsonl.gz", event("d", {"id": 2, "name": "x"}), new(3))
    result = shop.sync()
    assert shop.rows() == {1: {"id": 1, "name": "y"}, 3: {"id": 3, "name": "x"}}
    assert result.action == "sync-table"
    assert json.loads(result.details["position"])["files"]["1.jsonl"][0] == 3
    assert shop.table.position("tc.source.position") is None
    (position,) = shop.table.positions.show("tc.source.positions")
    assert json.loads(position["text"])["files"][f"file://{shop.events}/1.jsonl"][0] == 3
    again = shop.sync()
    assert (again.rows_written, again.snapshot_after) == (0, result.snapshot_after)


def test_only_what_is_new_is_read(shop: Shop) -> None:
    shop.create()
    shop.put("2.jsonl", new(1))
    shop.sync()
    shop.append("2.jsonl", new(2))
    shop.put("1.jsonl", new(3))
    assert shop.sync().rows_written == 2
    assert shop.rows().keys() == {1, 2, 3}


def test_a_new_column_joins_the_table(shop: Shop) -> None:
    shop.create()
    shop.put("1.jsonl", new(1))
    shop.sync()
    shop.put("2.jsonl", new(2), new(3, age=40))
    result = shop.sync()
    assert result.details["columns_added"] == 1
    assert shop.rows()[1] == {"id": 1, "name": "x", "age": None}
    assert shop.rows()[3]["age"] == 40


def test_a_new_column_may_have_a_dot_in_its_name(shop: Shop) -> None:
    shop.create()
    shop.put("1.jsonl", new(1, **{"address.city": "Ulm"}))
    shop.sync()
    assert shop.rows() == {1: {"id": 1, "name": "x", "address.city": "Ulm"}}


def test_a_missing_table_is_created_from_its_events(shop: Shop) -> None:
    shop.put("1.jsonl", new(1, score=1.5, ok=True))
    result = shop.sync(primary_key=("id",), options={"bucket": "3"})
    assert result.details["tables_created"] == 1
    assert shop.table.primary_key == ("id",)
    assert shop.table.arrow_schema.names == ["id", "name", "score", "ok"]
    assert not shop.table.arrow_schema.field("id").nullable
    assert shop.table.options["bucket"] == "3"
    assert shop.rows() == {1: {"id": 1, "name": "x", "score": 1.5, "ok": True}}


def test_without_events_no_table_is_made(shop: Shop) -> None:
    result = shop.sync(primary_key=("id",))
    assert (result.snapshot_after, result.rows_written) == (None, 0)
    assert shop.catalog.tables("shop") == []


def test_input_changelog_gets_old_and_new_rows(shop: Shop) -> None:
    shop.create(**{"changelog-producer": "input"})
    shop.put("1.jsonl", new(1), event("u", {"id": 1, "name": "x"}, {"id": 1, "name": "y"}))
    result = shop.sync()
    found = shop.table.changes(after=0, to=result.snapshot_after).to_arrow().to_pylist()
    assert [(r["_ROW_KIND"], r["name"]) for r in found] == [("+I", "x"), ("-U", "x"), ("+U", "y")]


# ------------------------------------------------------------------------------ exactly once
def test_a_retry_of_a_run_that_landed_reads_nothing(shop: Shop) -> None:
    shop.create()
    shop.put("1.jsonl", new(1))
    commit = tc.CommitAs(user="run-1", identifier=4)
    first = shop.sync(commit=commit)
    shop.put("2.jsonl", new(2))
    again = shop.sync(commit=commit)
    assert again.details["replayed"]
    assert again.snapshot_after == first.snapshot_after
    assert shop.rows().keys() == {1}
    shop.sync(commit=tc.CommitAs(user="run-2"))
    assert shop.rows().keys() == {1, 2}


@pytest.mark.parametrize("identifier", [0, 7])
def test_a_run_that_died_between_its_commits_goes_on_behind_them(
    shop: Shop, identifier: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "WINDOW_BYTES", 1)
    monkeypatch.setattr(windows, "WINDOW_LINES", 1)
    shop.create()
    commit = tc.CommitAs(user="run-1", identifier=identifier)
    source = tc.FilesSource(shop.source.uri)
    shop.put("1.jsonl", new(1))
    shop.put("2.jsonl", new(2, age=1), b"broken")
    with pytest.raises(EventError):
        shop.sync(source, commit=commit)
    assert shop.rows() == {}, "the bad block is read before anything of it is done"
    shop.put("2.jsonl", new(2, age=1))
    shop.put("3.jsonl", b"broken")
    with pytest.raises(EventError):
        shop.sync(source, commit=commit)
    assert shop.rows().keys() == {1}, "the rows before the new column are in"
    shop.put("3.jsonl", new(3, age=2))
    shop.sync(source, commit=commit)
    assert shop.rows().keys() == {1, 2, 3}
    assert shop.sync(source, commit=commit).details["replayed"]


def test_of_two_runs_from_one_position_one_loses(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.create()
    shop.put("1.jsonl", new(1))
    real = run.SyncRun.flush

    def overtaken(self: Any, **how: bool) -> None:
        monkeypatch.setattr(run.SyncRun, "flush", real)
        shop.sync()
        real(self, **how)

    monkeypatch.setattr(run.SyncRun, "flush", overtaken)
    with pytest.raises(CommitConflictError):
        shop.sync()
    assert len(shop.table.snapshots()) == 1


def test_a_truncate_is_done_where_it_happened(shop: Shop) -> None:
    shop.create()
    shop.put("1.jsonl", new(1), event("t"), new(2))
    with pytest.raises(EventError, match="line 2: the source table was truncated"):
        shop.sync(on_truncate="fail")
    shop.sync(on_truncate="apply")
    assert shop.rows().keys() == {2}
    shop.append("1.jsonl", event("t"))
    shop.sync(on_truncate="ignore")
    assert shop.rows().keys() == {2}
    shop.append("1.jsonl", new(5))
    shop.sync(on_truncate="apply")
    assert shop.rows().keys() == {2, 5}, "what was ignored once is not applied later"


def test_a_truncate_and_the_rows_behind_it_are_one_commit(shop: Shop) -> None:
    shop.create()
    shop.put("1.jsonl", new(1))
    shop.sync()
    shop.append("1.jsonl", new(7), event("t"), new(2))
    shop.sync()
    assert shop.rows().keys() == {2}
    kinds = [s.commit_kind for s in shop.table.snapshots()]
    assert [kind.value for kind in kinds] == ["APPEND", "OVERWRITE"]


# ------------------------------------------------------------------------------------ faults
@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        (b"nonsense", EventError, "2.jsonl, line 2: no JSON"),
        (new(4, name="x") | {"op": "q"}, EventError, "2.jsonl, line 2: no member 'op'"),
        (event("c", None, {"id": "four"}), DataError, "column 'id' cannot take four"),
        (event("c", None, {"id": None}), DataError, "'id' of the primary key is null"),
    ],
)
def test_bad_input_leaves_the_table_as_it_was(
    shop: Shop, bad: Any, error: type[Exception], words: str
) -> None:
    shop.create()
    shop.put("1.jsonl", new(1))
    shop.put("2.jsonl", new(2), bad, new(3, age=1))
    with pytest.raises(error, match=words):
        shop.sync()
    assert shop.table.latest_snapshot() is None
    assert shop.table.arrow_schema.names == ["id", "name"]


def test_events_of_two_tables_are_not_mixed_up(shop: Shop) -> None:
    shop.create()
    shop.put("1.jsonl", new(1) | {"source": {"db": "s", "table": "a"}})
    shop.put("2.jsonl", new(2) | {"source": {"db": "s", "table": "b"}})
    with pytest.raises(EventError, match=r"events of s\.a and s\.b"):
        shop.sync()
    shop.sync(tc.FilesSource(shop.source.uri, tables="b"))
    assert shop.rows().keys() == {2}


def test_keys_that_differ_from_the_table_are_refused(shop: Shop) -> None:
    shop.create()
    with pytest.raises(ArgumentError, match="primary_key"):
        shop.sync(primary_key=("name",))


def test_what_comes_later_is_refused_by_name(shop: Shop) -> None:
    with pytest.raises(UnsupportedFeatureError, match="'pigeons'"):
        sync_from_spec(
            sync_table,
            shop.catalog,
            "shop.customers",
            {"source": {"kind": "pigeons"}},
            tc.CommitAs(),
        )
    with pytest.raises(ArgumentError, match="source"):
        sync_from_spec(
            sync_table,
            shop.catalog,
            "shop.customers",
            {"source": {"kind": "files", "url": "x"}},
            tc.CommitAs(),
        )
    with pytest.raises(ArgumentError, match="until"):
        shop.sync(until="tomorrow")


def test_a_job_spec_syncs(shop: Shop) -> None:
    shop.put("1.jsonl", new(1))
    args = {
        "source": {"kind": "files", "uri": shop.source.uri, "format": "debezium-json"},
        "primary_key": ["id"],
        "until": "now",
    }
    result = sync_from_spec(sync_table, shop.catalog, "shop.customers", args, tc.CommitAs(user="u"))
    assert result.rows_written == 1
    json.dumps(result.to_document())


@pytest.mark.parametrize(
    "source",
    ["customers", ["customers"], {"db": "shop", "table": ["customers"]}, None, {"table": ""}],
    ids=["text", "list", "table is a list", "none", "no name"],
)
def test_an_event_that_names_no_table_is_a_dead_letter_and_ends_no_sync(
    shop: Shop, source: Any
) -> None:
    shop.create()
    events = [event("c", None, {"id": id, "name": "x"}, table="customers") for id in range(6)]
    shop.put("1.jsonl", events[1], {**events[2], "source": source}, events[3])
    shop.put("2.jsonl", {**events[4], "source": source}, events[5])
    done = shop.sync(dead_letter="shop.dead")
    assert set(shop.rows()) == {1, 3, 5}
    assert done.details["dead_letters"] == 2
    assert shop.sync(dead_letter="shop.dead").details["dead_letters"] == 0
    assert shop.catalog.table("shop.dead").read().to_arrow().num_rows == 2


def test_events_that_all_name_no_table_are_of_one(shop: Shop) -> None:
    shop.create()
    shop.put("1.jsonl", {**new(1), "source": None}, {**new(2), "source": {}})
    shop.sync(dead_letter="shop.dead")
    assert set(shop.rows()) == {1, 2}


def test_events_without_rows_wait_for_the_end_of_a_run_without_end(shop: Shop) -> None:
    """Every ten seconds what there is is committed; an ignored truncate is no reason for a commit."""

    class Grows(SetClock):
        def sleep_ms(self, duration_ms: int) -> None:
            self.at_ms += 10_000 + duration_ms
            shop.append("1.jsonl", event("t"))

    shop.create()
    shop.put("1.jsonl", event("t"))
    told: list[str] = []
    result = sync_table(
        replace(shop.catalog, clock=Grows()),
        "shop.customers",
        shop.source,
        until="forever",
        max_duration="1 min",
        on_truncate="ignore",
        progress=lambda stage, **_: told.append(stage),
    )
    assert (result.details["commits"], told.count("committed")) == (1, 1)
    assert json.loads(shop.sync().details["position"])["files"]
