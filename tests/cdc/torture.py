"""Random changes on a source while syncs of it are killed, then both sides compared."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import table_core as tc
from table_core.cdc.apply.target import CLAIMS_PROPERTY
from table_core.cdc.model.claims import Claims
from table_core.errors import NotFoundError
from tests.lanes import budget

ROOT = Path(__file__).resolve().parent.parent.parent
CHANGES = budget("CDC_CHANGES", ci=400, nightly=20_000)
KILLS = budget("CDC_KILLS", ci=2, nightly=10)


def changes(seed: int, count: int, schemas: list[str], ddl: list[str]) -> Iterator[str]:
    """Statements: inserts, updates, deletes, changes of keys, and ``ddl`` spread among them.

    Tables: ``orders`` (key ``id``, other ids in each schema), ``items`` (key ``id, line``) and
    ``notes`` (no key).
    """
    chance = random.Random(seed)
    live: dict[str, list[int]] = {schema: [] for schema in schemas}
    lines: dict[str, list[tuple[int, int]]] = {schema: [] for schema in schemas}
    steps = [count * (n + 1) // (len(ddl) + 1) for n in range(len(ddl))]
    for n in range(count):
        while steps and n >= steps[0]:
            steps.pop(0)
            yield ddl[len(ddl) - len(steps) - 1]
        schema = chance.choice(schemas)
        ids, rows = live[schema], lines[schema]
        number = schemas.index(schema) * 10_000_000 + n
        kind = chance.random()
        text = chance.choice(["", "plain", "quote''s", "ünï©ødé 日本", "x" * 300])
        if kind < 0.3 or not ids:
            ids.append(number)
            price = f"{chance.randint(-99999, 99999)}.{chance.randint(0, 99):02}"
            yield (
                f"INSERT INTO {schema}.orders (id, customer, price, note) VALUES "
                f"({number}, {chance.randint(1, 99)}, {price}, '{text}')"
            )
        elif kind < 0.5:
            yield (
                f"UPDATE {schema}.orders SET note = '{text}', price = price + 0.01 "
                f"WHERE id = {chance.choice(ids)}"
            )
        elif kind < 0.55:
            old = ids.pop(chance.randrange(len(ids)))
            ids.append(number)
            yield f"UPDATE {schema}.orders SET id = {number} WHERE id = {old}"
        elif kind < 0.62:
            yield f"DELETE FROM {schema}.orders WHERE id = {ids.pop(chance.randrange(len(ids)))}"
        elif kind < 0.8 or not rows:
            rows.append((number, 1))
            yield (
                f"INSERT INTO {schema}.items (id, line, qty) VALUES "
                f"({number}, 1, {chance.randint(0, 9)})"
            )
        elif kind < 0.9:
            id, line = chance.choice(rows)
            yield f"UPDATE {schema}.items SET qty = qty + 1 WHERE id = {id} AND line = {line}"
        elif kind < 0.93:
            id, line = rows.pop(chance.randrange(len(rows)))
            yield f"DELETE FROM {schema}.items WHERE id = {id} AND line = {line}"
        else:
            yield f"INSERT INTO {schema}.notes (a, b) VALUES ({n % 7}, '{text[:20]}')"


class Torture:
    """A source, a warehouse, and syncs that die."""

    def __init__(self, warehouse: Path, kind: str, source: dict[str, Any], **more: Any) -> None:
        self.warehouse, self.kind, self.source, self.more = warehouse, kind, source, more
        self.kills = 0
        self.failures: list[str] = []

    @property
    def catalog(self) -> Any:
        return tc.open_catalog(f"file://{self.warehouse}")

    def start(self) -> subprocess.Popen[str]:
        document = json.dumps(
            {
                "kind": self.kind,
                "source": self.source,
                "warehouse": f"file://{self.warehouse}",
                "more": self.more,
            }
        )
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("worker.py")), document],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def sync(self) -> dict[str, Any]:
        process = self.start()
        out, error = process.communicate(timeout=300)
        if process.returncode:
            raise AssertionError(error[-3000:])
        found: dict[str, Any] = json.loads(out.splitlines()[-1])
        return found

    def run(self, statements: Iterator[str], execute: Callable[[str], None], seed: int) -> None:
        """Execute the statements while syncs run and die at random moments; then one to the end."""
        chance = random.Random(seed)
        done = threading.Event()

        def change() -> None:
            try:
                for statement in statements:
                    execute(statement)
            finally:
                done.set()

        writer = threading.Thread(target=change)
        writer.start()
        while self.kills < KILLS or not done.is_set():
            process = self.start()
            if self.kills < KILLS:
                deadline = time.monotonic() + chance.uniform(0.8, 4.0)
                while process.poll() is None and time.monotonic() < deadline:
                    done.wait(0.02)
                if process.poll() is None:
                    process.kill()
                    self.kills += 1
            _, error = process.communicate(timeout=300)
            if process.returncode not in {0, -9}:
                self.failures.append(error[-3000:])
                break
        writer.join()
        assert not self.failures, self.failures[0]
        self.sync()

    def rows(self, table: str) -> Counter[Any]:
        found = self.catalog.table(f"lake.{table}").read().to_arrow()
        return spelled(found.column_names, found.to_pylist())

    def replayed(self, table: str) -> Counter[Any]:
        """The state that the table's change stream leads to."""
        handle = self.catalog.table(f"lake.{table}")
        changes = handle.changes(after=0, mode="changelog").to_arrow()
        names = [n for n in changes.column_names if n != "_ROW_KIND"]
        state: dict[Any, dict[str, Any]] = {}
        for row in changes.to_pylist():
            kind = row.pop("_ROW_KIND")
            key = tuple(row[n] for n in handle.primary_key)
            if kind in {"+I", "+U"}:
                state[key] = row
            else:
                state.pop(key, None)
        return spelled(names, list(state.values()))


def spelled(names: list[str], rows: list[dict[str, Any]]) -> Counter[Any]:
    return Counter(
        tuple((n, None if row[n] is None else str(row[n])) for n in sorted(names)) for row in rows
    )


def position(torture: Torture, table: str) -> str:
    """Where the sync of a table is in the source; nothing before its first commit."""
    try:
        text = torture.catalog.table(f"lake.{table}").position(CLAIMS_PROPERTY)
    except NotFoundError:
        return ""
    return "".join(claim.shown for claim in Claims.parse(text).held[-1:])
