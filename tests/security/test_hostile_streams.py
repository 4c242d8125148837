"""Of events of which many are hostile each good one is there, each bad one is a dead letter with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from tests.hostile_events import FORMS, HARMLESS, MAX_BYTES, MAX_COLUMNS, SCHEMA, Form, typed_row
from tests.hostile_sync import sync_apart
from tests.lanes import budget, sampled

EVENTS = budget("EVENTS", ci=1_000, nightly=10_000)
FILES = 4
MEMORY_MB = 512


def hostile(form: Form, n: int) -> str | None:
    """The way in which event ``n`` is hostile."""
    ways = list(form.ways)
    return ways[n // 10 % len(ways)] if n % 10 == 7 else None


def body(form: Form, n: int) -> bytes | None:
    way = hostile(form, n)
    return form.value(n) if way is None else form.ways[way](form, n)


def source(folder: Path, form: Form, **more: Any) -> tc.FilesSource:
    return tc.FilesSource(f"file://{folder}/*.jsonl", format=form.format, **more)


def rows(catalog: tc.Catalog, table: str) -> list[dict[str, Any]]:
    if table not in catalog.tables("lake"):
        return []
    found: list[dict[str, Any]] = catalog.table(f"lake.{table}").read().to_arrow().to_pylist()
    return found


@pytest.mark.parametrize("format", sampled(FORMS, 2))
def test_of_many_events_each_is_where_it_belongs(tmp_path: Path, format: str) -> None:
    form, events = FORMS[format], tmp_path / "events"
    events.mkdir()
    each = EVENTS // FILES
    for file in range(FILES):
        lines = [body(form, n) or b"" for n in range(file * each, (file + 1) * each)]
        (events / f"{file}.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    warehouse = f"file://{tmp_path}/wh"
    told = sync_apart(warehouse, source(events, form, max_event_bytes=MAX_BYTES), whole=form.whole)
    ways = {n: way for n in range(EVENTS) if (way := hostile(form, n)) is not None}
    dead = {n for n, way in ways.items() if way not in HARMLESS}
    catalog = tc.open_catalog(warehouse)
    places = {row["place"].rpartition("/")[2]: row["reason"] for row in rows(catalog, "bad")}
    expected = {f"{n // each}.jsonl, line {n % each + 1}" for n in dead}
    assert places.keys() == expected
    assert told["details"]["dead_letters"] == len(dead)
    there = {row["id"]: row for row in rows(catalog, "a")}
    good = [n for n in range(EVENTS) if HARMLESS.get(ways.get(n, "other keys"), False)]
    assert there == {n: typed_row(n) for n in good}
    assert len(set(ways.values())) == len(form.ways) >= 30
    assert told["peak_mb"] < MEMORY_MB


@pytest.mark.parametrize("way", FORMS["debezium-json"].ways)
def test_one_hostile_event_among_good_ones_does_no_harm(tmp_path: Path, way: str) -> None:
    """Where all others are as they should be, they are read all at once: another way to go wrong."""
    form, events = FORMS["debezium-json"], tmp_path / "events"
    events.mkdir()
    lines = [form.value(n) for n in range(6)]
    lines[3] = form.ways[way](form, 3) or b""
    (events / "1.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    catalog.create_database("lake")
    catalog.create_table("lake.a", SCHEMA, primary_key=("id",), options={"bucket": "1"})
    tc.sync_database(
        catalog,
        "lake",
        source(events, form, max_event_bytes=MAX_BYTES),
        dead_letter="lake.bad",
        max_columns=MAX_COLUMNS,
    )
    good = [n for n in range(6) if n != 3 or HARMLESS.get(way, False)]
    assert {row["id"]: row for row in rows(catalog, "a")} == {n: typed_row(n) for n in good}
    places = [row["place"].rpartition(", ")[2] for row in rows(catalog, "bad")]
    assert places == ([] if way in HARMLESS else ["line 4"])


def test_events_with_a_schema_among_some_without_are_rows(tmp_path: Path) -> None:
    """A connector's ``schemas.enable`` may be changed in the middle of a topic."""
    form, events = FORMS["debezium-json"], tmp_path / "events"
    events.mkdir()
    plain = [json.loads(form.value(n)) for n in range(6)]
    wrapped = [{"schema": {"type": "struct", "fields": []}, "payload": event} for event in plain]
    records = [{"topic": "t", "key": {"id": n}, "value": event} for n, event in enumerate(plain)]
    for first, others in ((plain, wrapped), (wrapped, plain), (plain, records), (records, plain)):
        folder = events / f"{len(list(events.iterdir()))}"
        folder.mkdir()
        lines = [json.dumps(first[n] if n < 2 else others[n]).encode() for n in range(6)]
        (folder / "1.jsonl").write_bytes(b"\n".join(lines) + b"\n")
        catalog = tc.open_catalog(f"file://{folder}/wh")
        tc.sync_database(catalog, "lake", source(folder, form), primary_key=("id",))
        assert sorted(row["id"] for row in rows(catalog, "a")) == list(range(6))


MANY = budget("VALUES", ci=600_000, nightly=(8 << 20) // 4)
CROWDS = {
    "objects": "[" + "{}," * MANY + "1]",
    "numbers": "[" + "1," * MANY + "1]",
    "members": "{" + ",".join(f'"a{n}":1' for n in range(600_000)) + "}",
}


def test_events_with_millions_of_values_take_no_memory(tmp_path: Path) -> None:
    form, events = FORMS["debezium-json"], tmp_path / "events"
    events.mkdir()
    lines = [form.raw(n, text) for n, text in enumerate(CROWDS.values())]
    half = "[" + "{}," * (200_000) + "1]"  # may be read, but not all of them be held at once
    lines += [form.raw(n, half) for n in range(10, 30)] + [form.value(3, name="[{,}]" * 400_000)]
    (events / "1.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    told = sync_apart(f"file://{tmp_path}/wh", source(events, form), whole=True)
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    assert [row["id"] for row in rows(catalog, "a")] == [3, *range(10, 30)]
    reasons = [row["reason"] for row in rows(catalog, "bad")]
    assert reasons == ["it has more than 500000 values"] * 3
    assert told["peak_mb"] < MEMORY_MB
