"""A connector that failed sends events again; a table without a key has each row once all the same."""

from __future__ import annotations

import logging
import random
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from tests.lanes import sampled
from tests.unit.cdc.lake import Lake


def mysql(
    n: int, *, pos: int | None = None, row: int = 0, at: int = 1_700_000_000_000, **more: Any
) -> dict[str, Any]:
    """An insert of ``n``, logged at ``pos``."""
    place = {"file": "log.000001", "pos": 100 * n if pos is None else pos, "row": row}
    source = {"connector": "mysql", "name": "c", "server_id": 1, "db": "s", "table": "t"}
    source |= {"snapshot": "false", "ts_ms": at, **place, **more.pop("source", {})}
    value = {"op": "c", "before": None, "after": {"v": n}, "source": source, **more}
    return {"topic": "c.s.t", "partition": 0, "value": value}


def postgres(n: int, *, commit: str | None = "10", lsn: int | None = None) -> dict[str, Any]:
    """An insert of ``n``, behind a commit."""
    lsn = 100 * n if lsn is None else lsn
    said = "null" if commit is None else f'"{commit}"'
    source = {"connector": "postgresql", "lsn": lsn, "sequence": f'[{said},"{lsn}"]'}
    return mysql(n, source={**source, "schema": "p", "file": None, "pos": None, "row": None})


def values(lake: Lake) -> list[int]:
    return sorted(row["v"] for row in lake.rows("t"))


def of(lake: Lake, *parts: list[dict[str, Any]]) -> list[int]:
    """What the lake has once each of ``parts`` was put behind the others and synced."""
    file = lake.events / "a.jsonl"
    for part in parts:
        before = file.read_text() if file.exists() else ""
        lake.put("a.jsonl", *part)
        file.write_text(before + file.read_text())
        lake.sync()
    return values(lake)


@pytest.mark.parametrize("event", [mysql, postgres])
def test_events_that_come_again_are_left_out(tmp_path: Path, event: Any) -> None:
    lake = Lake(tmp_path)
    first, again = [event(n) for n in (1, 2, 3)], [event(n) for n in (2, 3, 4)]
    assert of(lake, first, again) == [1, 2, 3, 4]
    assert of(lake, again, [event(5)]) == [1, 2, 3, 4, 5]


def test_events_that_come_again_in_one_run_are_left_out_and_counted(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.put("a.jsonl", *(mysql(n) for n in (1, 2, 3, 2, 3, 4)))
    result = lake.sync()
    assert values(lake) == [1, 2, 3, 4]
    assert result.details["tables"]["t"]["events_repeated"] == 2


def test_the_last_event_alone_comes_again(tmp_path: Path) -> None:
    assert of(Lake(tmp_path), [mysql(1), mysql(2)], [mysql(2, ts_ms=9), mysql(3)]) == [1, 2, 3]


def test_rows_of_one_statement_stay_and_come_again_as_a_whole(tmp_path: Path) -> None:
    rows = [mysql(n, pos=500, row=n) for n in range(5)]
    lake = Lake(tmp_path)
    assert of(lake, [mysql(9, pos=4), *rows[:3]], rows[3:]) == [0, 1, 2, 3, 4, 9]
    assert of(lake, [mysql(9, pos=4), *rows, mysql(7)]) == [0, 1, 2, 3, 4, 7, 9]
    assert of(lake, [mysql(7), mysql(8)]) == [0, 1, 2, 3, 4, 7, 8, 9]


def test_equal_rows_of_one_copy_stay(tmp_path: Path) -> None:
    """PostgreSQL logs them as one record, so all have its place."""
    copy = [postgres(1, lsn=700), postgres(1, lsn=700), postgres(2, lsn=700)]
    lake = Lake(tmp_path)
    assert of(lake, [postgres(5), *copy], [postgres(3, lsn=900)]) == [1, 1, 2, 3, 5]
    assert of(lake, [*copy, postgres(3, lsn=900)], [postgres(4, lsn=950)]) == [1, 1, 2, 3, 4, 5]


def test_transactions_of_postgres_lie_among_one_another(tmp_path: Path) -> None:
    events = [postgres(1, commit=None, lsn=900), postgres(2, commit="950", lsn=300)]
    assert of(Lake(tmp_path), events) == [1, 2]


def test_rows_of_a_compressed_transaction_have_one_place_and_stay(tmp_path: Path) -> None:
    events = [mysql(n, pos=500, row=row) for n, row in [(1, 0), (2, 1), (3, 0), (4, 1), (5, 0)]]
    assert of(Lake(tmp_path), events) == [1, 2, 3, 4, 5]


def test_a_log_that_was_begun_anew_is_not_one_that_came_before(tmp_path: Path) -> None:
    later = [mysql(n, pos=4 + n, at=1_700_000_001_000) for n in (6, 7, 8)]
    assert of(Lake(tmp_path), [mysql(n) for n in (1, 2, 3)], later, later) == [1, 2, 3, 6, 7, 8]


def test_times_of_a_log_may_go_back(tmp_path: Path) -> None:
    events = [mysql(n, at=1_700_000_000_000 - n) for n in (1, 2, 3)]
    assert of(Lake(tmp_path), events, events, [*events, mysql(4)]) == [1, 2, 3, 4]


def test_connectors_servers_and_partitions_have_places_of_their_own(tmp_path: Path) -> None:
    others = [mysql(2, source={"name": "d"}), mysql(1, source={"server_id": 2})]
    lake = Lake(tmp_path)
    assert of(lake, [mysql(3), *others]) == [1, 2, 3]
    lake.put("b.jsonl", mysql(1), mysql(2))  # another file: another partition, or the same again
    lake.sync()
    assert values(lake) == [1, 1, 2, 2, 3]


def test_what_tells_no_place_stays(tmp_path: Path) -> None:
    without = [
        mysql(1, source={"row": None}),
        mysql(1, source={"file": "x"}),
        mysql(1, pos=0),
        mysql(1, source={"snapshot": "true"}),
        mysql(1, source={"snapshot": "true"}),
        mysql(1, op="r"),
        mysql(1, op="r"),
        postgres(1) | {"value": {**postgres(1)["value"], "source": {"lsn": 7, "table": "t"}}},
    ]
    lake = Lake(tmp_path)
    lake.put("a.jsonl", *without)
    lake.catalog.create_database("lake", if_not_exists=True)
    lake.source = tc.FilesSource(f"file://{lake.events}/*.jsonl", tables=".*")
    tc.sync_table(lake.catalog, "lake.t", lake.source)
    assert len(lake.rows("t")) == len(without)


def test_a_table_that_is_read_from_an_earlier_place_gets_its_rows(tmp_path: Path) -> None:
    """Somebody who sets the position back means it."""
    lake = Lake(tmp_path)
    of(lake, [mysql(n) for n in (1, 2, 3)])
    table = lake.catalog.table("lake.t")
    table.truncate()
    for name in ("tc.source.positions", "tc.source.all"):
        table.positions.reset(name)
    lake.sync()
    assert values(lake) == [1, 2, 3]


def test_deletes_and_updates_that_come_again_change_nothing(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    gone = mysql(2, pos=400, op="d", before={"v": 1}, after=None)
    moved = mysql(5, pos=500, op="u", before={"v": 2}, after={"v": 5})
    events = [mysql(1, pos=100), mysql(1, pos=200), mysql(2, pos=300), gone, moved]
    assert of(lake, events) == [1, 5]
    assert of(lake, events[1:], [mysql(9, pos=900)]) == [1, 5, 9]


def test_a_truncate_of_one_of_two_sources_counts_each_event_once(tmp_path: Path) -> None:
    mine = [mysql(n) for n in (1, 2, 3)]
    other = mysql(3, pos=350, source={"db": "z"})
    emptied = mysql(0, pos=400, op="t", after=None)
    lake = Lake(tmp_path)
    assert of(lake, [*mine, *mine[1:], other], [emptied, mysql(9)]) == [3, 9]


@pytest.mark.parametrize("seed", sampled(range(30), 5))
def test_any_parts_of_a_log_that_come_again_change_nothing(tmp_path: Path, seed: int) -> None:
    chance, lake = random.Random(seed), Lake(tmp_path)
    log = [mysql(n, pos=10 * (n // 3) + 10, row=n % 3) for n in range(60)]
    sent, at = list[dict[str, Any]](), 0
    while at < len(log):
        until = chance.randrange(at, len(log)) + 1
        sent += log[at:until]
        # it fails and begins at a statement that it had sent, not at the last one
        at = (
            until
            if until % 3 or until == len(log)
            else 3 * chance.randrange(max(until // 3 - 1, 0) + 1)
        )
        at = until if chance.random() < 0.4 else at
    parts = sorted(chance.sample(range(len(sent)), min(3, len(sent))))
    cut = [sent[a:b] for a, b in zip([0, *parts], [*parts, len(sent)], strict=True) if b > a]
    assert of(lake, *cut) == list(range(60))


@pytest.mark.parametrize(
    ("event", "said"),
    [(mysql(1), "left out"), (mysql(1, source={"row": None}), "here twice: not all")],
)
def test_a_table_that_is_made_without_a_key_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, event: dict[str, Any], said: str
) -> None:
    lake = Lake(tmp_path)
    with caplog.at_level(logging.WARNING):
        of(lake, [event], [mysql(7)])
    told = [text for text in caplog.messages if "without a key" in text]
    assert len(told) == 1
    assert said in told[0]
    assert "primary_key=" in told[0]
