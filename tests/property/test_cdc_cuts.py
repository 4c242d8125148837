"""A change stream leads to the same tables however it is cut: into files, windows and runs, and killed.

Random streams of rows, truncates, drops, creates and columns that come and go, of keyed and keyless
tables in two shards, against a model that applies one event after the other.
``CDC_CUTS=200`` asks for more of them.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.cdc.apply import target
from table_core.cdc.source import lines
from table_core.cdc.source.files import reader as files
from tests.lanes import budget

SEEDS = budget("CDC_CUTS", ci=1, nightly=20)
SHARDS = ("s1", "s2")
TABLES = ("people", "log")
"""One with a key and one without."""


class Killed(BaseException):
    """Nothing that a run could catch."""


class Stream:
    """Events and what they lead to."""

    def __init__(
        self, chance: random.Random, *, merged: bool, truncates: bool, drops: bool
    ) -> None:
        self.chance, self.merged = chance, merged
        self.truncates, self.drops = truncates, drops
        self.events: list[dict[str, Any]] = []
        self.rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self.columns: dict[tuple[str, str], list[str]] = {}
        self.kept: dict[tuple[str, str], list[dict[str, Any]]] = {}
        """Rows that an ignored statement left."""
        self.ids = 0

    def target(self, table: tuple[str, str]) -> str:
        return table[1] if self.merged else "_".join(table)

    def emit(self, table: tuple[str, str], op: str, before: Any, after: Any) -> None:
        row = after or before
        key = {"id": row["id"]} if row is not None and table[1] == "people" else None
        source = {
            "db": table[0],
            "table": table[1],
            "file": "log.000001",
            "pos": 10 * len(self.events) + 10,
            "row": 0,
            "ts_ms": 1_700_000_000_000,
        }
        value = {"op": op, "before": before, "after": after, "source": source}
        self.put(f"t.{'.'.join(table)}", key, value)

    def put(self, topic: str, key: Any, value: Any) -> None:
        told = {"topic": topic, "partition": 0, "offset": len(self.events)}
        self.events.append({**told, "key": key, "value": value})

    def news(self, table: tuple[str, str], kind: str) -> None:
        types = [("id", "BIGINT"), *((name, "VARCHAR") for name in self.columns.get(table, ()))]
        described = {
            "columns": [
                {"name": name, "typeName": type_, "position": n, "length": 20, "optional": n > 0}
                for n, (name, type_) in enumerate(types)
            ],
            "primaryKeyColumnNames": ["id"] if table[1] == "people" else [],
        }
        change = {
            "type": kind,
            "id": f'"{table[0]}"."{table[1]}"',
            "table": None if kind == "DROP" else described,
        }
        source = {
            "db": table[0],
            "table": table[1],
            "snapshot": "false",
            "file": "log.000001",
            "pos": 10 * len(self.events) + 10,
        }
        value = {"source": source, "databaseName": table[0], "ddl": "…", "tableChanges": [change]}
        self.put("t", {"databaseName": table[0]}, value)

    def create(self, table: tuple[str, str]) -> None:
        self.rows[table] = []
        self.columns[table] = ["a"]
        self.news(table, "CREATE")

    def new_row(self, table: tuple[str, str], id: int) -> dict[str, Any]:
        texts = [None, "x", "y", "ü"]
        return {"id": id, **{c: self.chance.choice(texts) for c in self.columns[table]}}

    def step(self) -> None:
        table = (self.chance.choice(SHARDS), self.chance.choice(TABLES))
        if table not in self.rows:
            self.create(table)
            return
        rows, kind = self.rows[table], self.chance.random()
        if kind < 0.5 or not rows:
            self.ids += 1
            rows.append(self.new_row(table, self.ids))
            self.emit(table, "c", None, rows[-1])
        elif kind < 0.65:
            n = self.chance.randrange(len(rows))
            old, rows[n] = rows[n], self.new_row(table, rows[n]["id"])
            self.emit(table, "u", old, rows[n])
        elif kind < 0.75:
            self.emit(table, "d", rows.pop(self.chance.randrange(len(rows))), None)
        elif kind < 0.85:
            self.emit(table, "t", None, None)
            self.forget(table, keep=not self.truncates)
        elif kind < 0.92:
            self.columns[table].append(f"c{len(self.events)}")
            self.news(table, "ALTER")
        else:
            self.news(table, "DROP")
            self.forget(table, keep=not self.drops)
            del self.rows[table]

    def forget(self, table: tuple[str, str], *, keep: bool) -> None:
        if keep:
            self.kept.setdefault(table, []).extend(self.rows[table])
        else:
            self.kept.pop(table, None)
        self.rows[table] = []

    def expected(self) -> dict[str, Counter[Any]]:
        """Rows by target, without columns that are null."""
        found: dict[str, Counter[Any]] = {}
        for table in {*self.rows, *self.kept}:
            rows = [*self.kept.get(table, ()), *self.rows.get(table, ())]
            counts = found.setdefault(self.target(table), Counter())
            counts.update(map(spelled, rows))
        return {name: rows for name, rows in found.items() if rows}


def spelled(row: dict[str, Any]) -> Any:
    return tuple(sorted((name, value) for name, value in row.items() if value is not None))


def made(catalog: tc.Catalog) -> dict[str, Counter[Any]]:
    found = {}
    for name in catalog.tables("lake"):
        rows = catalog.table(f"lake.{name}").read().to_arrow().to_pylist()
        if rows:
            found[name] = Counter(map(spelled, rows))
    return found


def written(folder: Path, name: str, events: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(e, ensure_ascii=False) + "\n" for e in events)
    (folder / name).write_text(text)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("merged", [True, False])
def test_the_cut_of_a_stream_makes_no_difference(
    tmp_path: Path, seed: int, merged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    truncates, drops = chance.random() < 0.7, chance.random() < 0.7
    stream = Stream(chance, merged=merged, truncates=truncates, drops=drops)
    for _ in range(40):
        stream.step()
    more: dict[str, Any] = {
        "merge_shards": merged,
        "on_truncate": "apply" if truncates else "ignore",
        "on_drop": "apply" if drops else "ignore",
    }
    events = stream.events
    for cut in ("one file", "many files", "many runs", "windows", "kills", "limits"):
        folder = tmp_path / cut.replace(" ", "-")
        (folder / "events").mkdir(parents=True)
        catalog = tc.open_catalog(f"file://{folder}/wh")
        source = tc.FilesSource(f"file://{folder}/events/*.jsonl")
        step = {"one file": len(events), "windows": len(events), "kills": 25, "limits": 25}.get(
            cut, 1 + seed % 7
        )
        with monkeypatch.context() as patch:
            if cut == "windows":
                small = lambda size, count, newest: count >= 3  # noqa: E731
                patch.setattr(lines, "window_is_full", small)
                patch.setattr(files, "window_is_full", small)
                patch.setattr(files, "_BLOCK_BYTES", 700)
            for n in range(0, len(events), step):
                written(folder / "events", f"{n:04}.jsonl", events[n : n + step])
                if cut == "kills":
                    killed_and_again(catalog, source, chance, more)
                elif cut == "many runs":
                    tc.sync_database(catalog, "lake", source, **more)
                elif cut == "limits":
                    limited(catalog, source, chance, more)
            tc.sync_database(catalog, "lake", source, **more)
        assert made(catalog) == stream.expected(), (seed, cut, more)
        assert tc.sync_database(catalog, "lake", source, **more).rows_written == 0 or drops


def limited(
    catalog: tc.Catalog, source: tc.FilesSource, chance: random.Random, more: dict[str, Any]
) -> None:
    """Runs of few events, and commits of fewer, some of them killed."""
    for _ in range(5):
        few = {"max_rows": chance.randint(1, 8), "commit_rows": chance.randint(1, 5)}
        killed_and_again(catalog, source, chance, {**more, **few})


def killed_and_again(
    catalog: tc.Catalog, source: tc.FilesSource, chance: random.Random, more: dict[str, Any]
) -> None:
    """A run that is killed before one of its commits, and another one until one gets through."""
    while True:
        left = chance.randint(0, 4)
        real = target.SyncTarget.flush

        def flush(self: Any, real: Any = real, **how: bool) -> None:
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            real(self, **how)

        target.SyncTarget.flush = flush  # type: ignore[method-assign]  # a kill at this place
        try:
            tc.sync_database(catalog, "lake", source, **more)
        except Killed:
            continue
        finally:
            target.SyncTarget.flush = real  # type: ignore[method-assign]  # as it was
        return
