"""The random lives of a MariaDB are strong enough: with any one part of its sync taken out, one of them fails."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from table_core.cdc.apply.read_again import ReadAgain
from table_core.cdc.model.log_position import LogPosition
from table_core.cdc.model.log_rows import LogRows
from table_core.cdc.mysql import binlog_rows, reader
from table_core.cdc.mysql.binlog_rows import BinlogRows, LogStatements
from table_core.cdc.mysql.open_transaction import OpenTransaction
from table_core.cdc.mysql.reader import MySqlReader
from table_core.errors import TableError
from tests.cdc.mariadb_lives import live
from tests.cdc.servers import MariaDb

MOST = 60
"""Lives that one of these may take."""
Patch = pytest.MonkeyPatch


def _no_rollback(patch: Patch) -> None:
    patch.setattr(OpenTransaction, "undone", lambda *_: (set(), set()))


def _no_prepared(patch: Patch) -> None:
    prepares = OpenTransaction.prepares

    def wrong(self: OpenTransaction, xid: str, rows: LogRows) -> None:
        prepares(self, xid, rows)
        self.prepared[xid].rows = {}

    patch.setattr(OpenTransaction, "prepares", wrong)


def _no_cascades(patch: Patch) -> None:
    patch.setattr(reader, "cascades_of", lambda _: {})


def _no_truncate(patch: Patch) -> None:
    patch.setattr(LogRows, "truncated", lambda *_: None)


def _no_defaults(patch: Patch) -> None:
    declared = binlog_rows._declared
    patch.setattr(
        binlog_rows, "_declared", lambda column, known, mapping, _: declared(column, known, mapping, None)
    )  # fmt: skip


def _no_alter(patch: Patch) -> None:
    patch.setattr(LogStatements, "_changed", lambda *_: None)


def _no_missing_columns(patch: Patch) -> None:
    rewritten = BinlogRows.rewritten

    def wrong(self: BinlogRows, table: Any, why: str, where: str) -> None:
        if "wrote rows without" not in why:
            rewritten(self, table, why, where)

    patch.setattr(BinlogRows, "rewritten", wrong)


def _on_top(patch: Patch) -> None:
    patch.setattr(ReadAgain, "renewed", lambda *_: [])


def _no_since(patch: Patch) -> None:
    def wrong(_: MySqlReader, __: LogPosition, ___: Any, position: LogPosition) -> LogPosition:
        return replace(position, since={})

    patch.setattr(MySqlReader, "_count_from", wrong)


def _too_many_skipped(patch: Patch) -> None:
    within = LogPosition.within

    def wrong(self: LogPosition, order: tuple[int, int], skip: int) -> LogPosition:
        return within(self, order, skip + 1 if skip else 0)

    patch.setattr(LogPosition, "within", wrong)


def _one_charset(patch: Patch) -> None:
    patch.setattr(reader, "codec_of_charset", lambda _: "latin1")


BUGS: dict[str, Callable[[Patch], None]] = {
    "a transaction that is rolled back counts": _no_rollback,
    "rows of an XA transaction do not come with its end": _no_prepared,
    "children do not follow their parents": _no_cascades,
    "a truncate is passed over": _no_truncate,
    "columns that are added are null": _no_defaults,
    "a column that changes keeps its values": _no_alter,
    "rows without all columns are passed over": _no_missing_columns,
    "rows that are read again come on top of the old ones": _on_top,
    "the log before a snapshot counts": _no_since,
    "a row of a transaction that is cut is skipped": _too_many_skipped,
    "all text is of one character set": _one_charset,
}


@pytest.mark.parametrize("bug", BUGS)
def test_some_life_shows(
    mariadb: MariaDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bug: str
) -> None:
    BUGS[bug](monkeypatch)
    number = list(BUGS).index(bug)
    for seed in itertools.islice(itertools.count(), MOST):
        name = f"bug_{number}_{seed}"
        try:
            live(mariadb, tmp_path / str(seed), seed, name)
        except (AssertionError, TableError) as error:
            print(f"seen in life {seed}: {str(error.__cause__ or error)[-200:]}")
            return
        finally:
            mariadb.sql(f"DROP DATABASE IF EXISTS {name}")
    raise AssertionError(f"{MOST} lives and nobody has noticed")
