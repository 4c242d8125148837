"""A commit is tried again when its snapshot may be expired: found, made, or loudly neither."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from table_core import errors
from table_core.commit import readback
from table_core.ondisk import properties
from tests.tables import new_catalog, write_rows

LISTED = 4
"""Commits that a snapshot names."""
SCHEMA = pa.schema([("k", pa.int64())])
ROWS = pa.table({"k": [7]}, schema=SCHEMA)
LATER_MS = 120_000
"""More than clocks may be apart."""


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tc.Table:
    monkeypatch.setattr(properties, "_COMMITS_MAX", LISTED)
    table = new_catalog(tmp_path.as_uri()).create_table("d.t", SCHEMA, options={"bucket": "-1"})
    write_rows(table, pa.table({"k": [0]}, schema=SCHEMA))
    return table


def others(table: tc.Table, count: int, kept: int = 1) -> None:
    """So many commits of other task runs; the last ones are kept."""
    for number in range(count):
        write_rows(
            table, pa.table({"k": [0]}), commit=tc.CommitAs(user=f"run {number}", identifier=0)
        )
    table.expire_snapshots(retain_max=kept, retain_min=1)


def now_ms(table: tc.Table) -> int:
    head = table.latest_snapshot()
    assert head is not None
    return head.time_millis


def sevens(table: tc.Table) -> int:
    return table.read().to_arrow()["k"].to_pylist().count(7)


def again(table: tc.Table, since_ms: int | None) -> tc.Commit:
    """By a process that remembers nothing."""
    fresh = tc.open_table(table.uri)
    return write_rows(fresh, ROWS, commit=tc.CommitAs(user="task", identifier=0, since_ms=since_ms))


def test_what_the_newest_snapshot_still_names_is_found(table: tc.Table) -> None:
    began = now_ms(table)
    again(table, None)
    others(table, 1)
    assert again(table, began).replayed
    assert sevens(table) == 1


@pytest.mark.parametrize("landed", [True, False])
def test_what_may_have_landed_in_an_expired_snapshot_is_an_unknown_outcome(
    table: tc.Table, landed: bool
) -> None:
    began = now_ms(table)
    if landed:
        again(table, None)
    others(table, 2 * LISTED)
    before = table.latest_snapshot()
    with pytest.raises(errors.OutcomeUnknownError, match="Look whether its rows are there"):
        again(table, began)
    assert table.latest_snapshot() == before
    assert sevens(table) == landed


def test_an_attempt_that_began_after_all_that_is_expired_commits(table: tc.Table) -> None:
    others(table, 2 * LISTED)
    assert not again(table, now_ms(table) + LATER_MS).replayed
    assert sevens(table) == 1


def test_an_older_snapshot_that_is_left_proves_that_nothing_landed(
    table: tc.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readback, "_CLOCKS_MS", 0)
    others(table, 2 * LISTED, kept=3)
    times = [snapshot.time_millis for snapshot in table.snapshots()]
    with pytest.raises(errors.OutcomeUnknownError):
        again(table, times[0])
    assert not again(table, times[0] + 1).replayed
    assert sevens(table) == 1


def test_a_first_attempt_is_told_nothing_of_what_is_expired(table: tc.Table) -> None:
    others(table, 2 * LISTED)
    assert not again(table, None).replayed
    assert sevens(table) == 1
