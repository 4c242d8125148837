"""Paimon and we commit to one table at the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from judge import JudgedTable, JudgeError

import table_core as tc


@contextmanager
def paimon_writes(theirs: JudgedTable, rounds: int) -> Iterator[None]:
    """Within, Paimon makes ``rounds`` commits of a row each; at the end all of them are made."""
    failed: list[BaseException] = []

    def write() -> None:
        try:
            theirs.rounds([[["+I", 10_000 + n, n]] for n in range(rounds)])
        except JudgeError as error:
            failed.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    yield
    thread.join()
    assert not failed, failed


def require_rows_of_both(table: tc.Table, theirs: JudgedTable, rounds: int) -> None:
    """After ``rounds`` commits of each, every one is there, and both read the same."""
    assert [s.id for s in table.snapshots()] == list(range(1, 2 * rounds + 1))
    want = sorted([*range(rounds), *range(10_000, 10_000 + rounds)])
    assert sorted(table.read().to_arrow()["k"].to_pylist()) == want
    assert sorted(row[1] for row in theirs.read()) == want
