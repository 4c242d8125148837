"""Processes that read what is promised to them while others write, expire and clean."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

import table_core as tc
from tests.clocks import Later
from tests.durability import processes
from tests.tables import write_rows


def write(uri: str, user: str, stop: Path, log: Path) -> None:
    """Commit until ``stop`` is there."""
    table = tc.open_table(uri)
    with log.open("a", buffering=1) as out:
        for n in itertools.count():
            if stop.exists():
                return
            while not is_told(table, tc.CommitAs(user=user, identifier=n)):
                table = tc.open_table(uri)
            print(n, file=out)


def is_told(table: tc.Table, commit: tc.CommitAs) -> bool:
    """Commit one row; False where expiry was faster than the look at what became of it, or took what it compacts: ask again."""
    row = {"writer": [commit.user], "n": pa.array([commit.identifier], pa.int32()), "v": [1]}
    try:
        write_rows(table, pa.table(row), commit=commit)
    except (tc.errors.OutcomeUnknownError, tc.errors.FilesExpiredError):
        return False
    return True


def sums_of(table: tc.Table, **which: object) -> list[tuple[int, int]]:
    rows = table.read(**which).to_arrow()  # type: ignore[arg-type]  # snapshot or tag
    return sorted(zip(rows["n"].to_pylist(), rows["v"].to_pylist(), strict=True))


def read_as_consumer(uri: str, id: str, stop: Path, log: Path) -> None:
    """Register at the newest snapshot, read it again and again, go on: it must stay as it was."""
    with log.open("a", buffering=1) as out:
        while not stop.exists():
            table = tc.open_table(uri)
            newest = table.latest_snapshot()
            if newest is None:
                continue
            try:
                table.consumers.reset(id, newest.id)
            except tc.errors.NotFoundError:
                continue  # it expired before anybody promised it
            say_what_is_read(out, table, snapshot=newest.id)


def read_by_tag(uri: str, name: str, stop: Path, log: Path) -> None:
    """Tag the newest snapshot, read the tag again and again, delete it."""
    with log.open("a", buffering=1) as out:
        while not stop.exists():
            table = tc.open_table(uri)
            try:
                table.tags.create(name)
            except tc.errors.NotFoundError:
                continue
            say_what_is_read(out, table, tag=name)
            table.tags.delete(name)


def say_what_is_read(out: object, table: tc.Table, **which: object) -> None:
    first = None
    for _ in range(4):
        try:
            found = sums_of(table, **which)
        except tc.errors.TableError as error:
            print("failed", type(error).__name__, error, file=out)  # type: ignore[call-overload]  # a text file
            return
        right = all(v == n + 1 for n, v in found) and first in (None, found)
        first = found
        print("right" if right else f"wrong {found}", file=out)  # type: ignore[call-overload]  # a text file


def keep(uri: str, stop: Path) -> None:
    """Expire all that may go, and remove orphans that only this process takes for old."""
    while not stop.exists():
        table = tc.open_table(uri)
        with contextlib.suppress(tc.errors.NotFoundError):
            table.expire_snapshots(retain_max=1, retain_min=1, older_than=datetime.now(UTC))


def make_table(folder: Path) -> tc.Table:
    return processes.make_table(folder, **{"snapshot.num-retained.min": "1000"})


def later(table: tc.Table) -> tc.Table:
    return tc.Table(replace(table.access, clock=Later()))
