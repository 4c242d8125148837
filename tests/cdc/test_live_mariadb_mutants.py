"""The random lives of a MariaDB are strong enough: with any one part of its sync taken out, one of them fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from table_core.cdc.model.log_rows import LogRows
from table_core.cdc.source.mysql import binlog_rows, reader
from table_core.cdc.source.mysql.binlog_rows import BinlogRows, LogStatements
from table_core.cdc.source.mysql.open_transaction import OpenTransaction
from table_core.cdc.source.mysql.reader import MySqlReader
from table_core.cdc.source.source_shapes import SourceShapes
from table_core.errors import EventError
from table_core.position.log import LogPlace
from tests.cdc.both_sides import same
from tests.cdc.mariadb_lives import live
from tests.cdc.mariadb_log import Log
from tests.cdc.servers import MariaDb
from tests.cdc.shared_bugs import on_top, require_shown, too_many_skipped

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


def _no_since(patch: Patch) -> None:
    def wrong(_: MySqlReader, __: LogPlace, ___: Any, position: LogPlace) -> LogPlace:
        return replace(position, since={})

    patch.setattr(MySqlReader, "_count_from", wrong)


def _one_charset(patch: Patch) -> None:
    patch.setattr(reader, "codec_of_charset", lambda _: "latin1")


def _no_statements(patch: Patch) -> None:
    patch.setattr(LogStatements, "_written", lambda *_: None)


def _any_key(patch: Patch) -> None:
    patch.setattr(SourceShapes, "refuse_key", lambda *_: None)


def _no_names(patch: Patch) -> None:
    effects_of = binlog_rows.effects_of

    def wrong(tokens: Any) -> Any:
        return replace(effects_of(tokens), arrived=[], created=[])

    patch.setattr(binlog_rows, "effects_of", wrong)


BUGS: dict[str, Callable[[Patch], None]] = {
    "a transaction that is rolled back counts": _no_rollback,
    "rows of an XA transaction do not come with its end": _no_prepared,
    "children do not follow their parents": _no_cascades,
    "a truncate is passed over": _no_truncate,
    "columns that are added are null": _no_defaults,
    "a column that changes keeps its values": _no_alter,
    "rows without all columns are passed over": _no_missing_columns,
    "rows that are read again come on top of the old ones": on_top,
    "the log before a snapshot counts": _no_since,
    "a row of a transaction that is cut is skipped": too_many_skipped,
    "all text is of one character set": _one_charset,
}


@pytest.mark.parametrize("bug", BUGS)
def test_some_life_shows(
    mariadb: MariaDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bug: str
) -> None:
    BUGS[bug](monkeypatch)
    number = list(BUGS).index(bug)

    def one(seed: int) -> None:
        name = f"bug_{number}_{seed}"
        try:
            live(mariadb, tmp_path / str(seed), seed, name)
        finally:
            mariadb.sql(f"DROP DATABASE IF EXISTS {name}")

    require_shown(one, MOST)


SCENARIOS: dict[str, tuple[Callable[[Patch], None], Sequence[str]]] = {
    "rows of a statement are passed over": (
        _no_statements,
        ("SET binlog_format = 'STATEMENT'", "INSERT INTO {0}.t VALUES (2, 'two')"),
    ),
    "a key may change": (
        _any_key,
        (
            "ALTER TABLE {0}.t DROP PRIMARY KEY, MODIFY v VARCHAR(20) NOT NULL, ADD PRIMARY KEY (v)",
            "INSERT INTO {0}.t VALUES (1, 'second')",
        ),
    ),
    "a table that takes a name is the one that had it": (
        _no_names,
        (
            "CREATE TABLE {0}.n LIKE {0}.t",
            "RENAME TABLE {0}.t TO {0}.o, {0}.n TO {0}.t",
            "INSERT INTO {0}.t VALUES (7, 'seven')",
        ),
    ),
}
"""What random lives hardly come to, or heal by what they do next."""


@pytest.mark.parametrize("bug", SCENARIOS)
def test_a_scenario_shows(
    mariadb: MariaDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bug: str
) -> None:
    patch, statements = SCENARIOS[bug]
    number = list(SCENARIOS).index(bug)

    def one(name: str) -> None:
        log = Log(mariadb, tmp_path / name, name)
        mariadb.sql(*(statement.replace("{0}", name) for statement in statements))
        log.sync()
        same(log, "t")

    try:
        one(f"scene_{number}_well")
    except EventError as error:
        assert bug == "a key may change", error
    patch(monkeypatch)
    with pytest.raises(AssertionError):
        one(f"scene_{number}_ill")
