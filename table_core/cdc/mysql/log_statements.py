"""Statements in a log: what they do to its transactions, and to the tables that are wanted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from table_core.cdc.model.record import SourceTable
from table_core.cdc.model.schema_change_event import SchemaChangeEvent
from table_core.cdc.mysql.kept_values import keeps_values
from table_core.cdc.mysql.sql_tokens import tokens_of
from table_core.cdc.mysql.statements import effects_of, names_in, written_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.cdc.mysql.binlog import Header
    from table_core.cdc.mysql.binlog_rows import BinlogRows
    from table_core.cdc.mysql.ddl import Altered, Name
    from table_core.cdc.mysql.logged_statement import LoggedStatement
    from table_core.cdc.mysql.sql_tokens import Token
    from table_core.cdc.mysql.statements import Effects

__all__ = ["LogStatements"]

_STATED: Final = "its rows were written by a statement, not row by row"


@dataclass(slots=True)
class LogStatements:
    """Takes one statement of the log that ``log`` reads."""

    log: BinlogRows

    def take(self, header: Header, statement: LoggedStatement, end: int) -> bool:
        """Apply a statement; whether a transaction ended with it."""
        log = self.log
        dialect = replace(log.around.dialect, sql_mode=statement.sql_mode)
        tokens = tokens_of(statement.text, dialect)
        words = [token.word for token in tokens[:3]]
        where = log.where_of(header)
        match words:
            case ["BEGIN"] | ["BEGIN", "WORK"] | ["START", "TRANSACTION", *_]:
                log.open.begins(log.rows, is_group=True)
                return False
            case ["SAVEPOINT", *_]:
                log.open.saves(tokens[1].text.lower() if len(tokens) > 1 else "", log.rows)
                return False
            case ["RELEASE", *_]:
                return False
            case ["XA", *_]:
                return self._xa(words, statement.text, where, end)
            case ["ROLLBACK", *_] if "TO" in [token.word for token in tokens[1:3]]:
                self._undo(tokens[-1].text.lower(), where)
                return False
            case ["ROLLBACK", *_]:
                self._undo(None, where)
            case ["COMMIT", *_]:
                pass
            case _:
                self._apply(tokens, statement.database, where, header.time * 1000)
                if log.open.is_group:
                    return False
        log.ends(end)
        return True

    # ---------------------------------------------------------------------------- transactions
    def _undo(self, savepoint: str | None, where: str) -> None:
        log = self.log
        undone, out_of_reach = log.open.undone(log.rows, savepoint)
        lasting = {table for table in undone if not log.around.is_transactional(table)}
        for table in sorted(out_of_reach | lasting):
            log.rewritten(table, "a transaction was rolled back after its rows had come", where)

    def _xa(self, words: Sequence[str], text: str, where: str, end: int) -> bool:
        log, verb = self.log, words[1] if len(words) > 1 else ""
        xid = text.split(maxsplit=2)[2].strip() if len(text.split(maxsplit=2)) > 2 else ""
        if verb in {"START", "BEGIN"}:
            log.open.begins(log.rows, is_group=True, is_xa=True)
            return False
        if verb not in {"COMMIT", "ROLLBACK"}:
            return False
        transaction = log.open.prepared.pop(xid, None)
        if transaction is None:
            for table in sorted(log.around.known()):
                log.rewritten(table, f"XA {verb} ends a transaction that began before", where)
        elif verb == "COMMIT" and transaction.rows is None:
            for table in sorted(transaction.tables):
                log.rewritten(table, "an XA transaction was committed after its rows", where)
        elif verb == "COMMIT" and transaction.rows:
            first = log.counted(transaction.count, where)
            for key, rows in transaction.rows.items():
                into = log.rows.parts.setdefault(key, rows.empty())
                into.add(rows, first - transaction.first)
        log.ends(end)
        return True

    # --------------------------------------------------------------------------------- tables
    def _table(self, name: Name, database: str) -> SourceTable:
        parts = (name[0] or database, name[1])
        return SourceTable(
            *(part.lower() for part in parts) if self.log.around.ignores_case else parts
        )

    def _apply(self, tokens: Sequence[Token], database: str, where: str, time_ms: int) -> None:
        log, effects = self.log, effects_of(tokens)
        if effects.writes or not effects.is_known:
            self._written(effects, tokens, database, where)
        arrived = [(self._table(name, database), why) for name, why in effects.arrived]
        there = {table for table, _ in arrived}
        for name in effects.truncated:
            if log.wants(table := self._table(name, database)):
                log.rows.truncated(table, log.counted(1, where), time_ms)
                self._cascade_of_all(table, where)
        for table in self._gone(effects, database):
            if table not in there:
                self._dropped(table, where)
        if effects.altered is not None:
            self._alter(effects.altered, database, where)
        for table in (self._table(name, database) for name in effects.created):
            if not log.around.asks_server:
                break
            is_known = table in log.around.known() or table in log.columns
            if is_known and (table in log.dropped or not effects.is_idle_if_there):
                log.rewritten(table, "the table was created anew", where)
            log.dropped.discard(table)
        for name, why in effects.rewritten:
            log.rewritten(self._table(name, database), why, where)
        for table, why in arrived:
            log.rewritten(table, why, where)

    def _cascade_of_all(self, table: SourceTable, where: str) -> None:
        """MariaDB empties no table that others refer to, unless foreign keys are not looked at."""
        for cascade in self.log.around.cascades(table):
            self.log.rewritten(cascade.child, f"{table}, which it refers to, was emptied", where)

    def _gone(self, effects: Effects, database: str) -> list[SourceTable]:
        """Tables that a statement dropped."""
        affected = [self._table(name, database) for name in effects.dropped]
        for name in effects.dropped_databases:
            gone = self._table((name, ""), "").database
            affected += sorted(t for t in self.log.around.known() if t.database == gone)
        return affected

    def _dropped(self, table: SourceTable, where: str) -> None:
        log = self.log
        if log.wants(table):
            log.dropped.add(table)
            if log.around.counts(table, log.transaction):
                log.around.gone(table)
            number = log.counted(1, where)
            log.rows.schema_changes.append(
                SchemaChangeEvent(
                    number, table, dropped=True, in_snapshot=False, columns={}, key=()
                )
            )

    def _alter(self, altered: Altered, database: str, where: str) -> None:
        """Columns that came, went, or have another definition."""
        log, table = self.log, self._table(altered.table, database)
        if not log.wants(table):
            return
        if altered.columns_why:
            self._changed(table, altered.columns_why, where)
        defaults = log.defaults.setdefault(table, {})
        for name in altered.dropped:
            defaults[name] = None
        for name, constant in altered.defaults.items():
            if log.around.has_column(table, name) or name in defaults:
                self._changed(table, f"column {name} was dropped and added", where)
            defaults[name] = constant
        columns = log.columns.get(table, {})
        for name, definition in altered.modified:
            if not keeps_values(columns.get(name), definition):
                self._changed(table, f"the type of column {name} was changed", where)

    def _changed(self, table: SourceTable, why: str, where: str) -> None:
        """Values of columns changed; of files older rows keep theirs."""
        if self.log.around.asks_server:
            self.log.rewritten(table, why, where)

    def _written(
        self, effects: Effects, tokens: Sequence[Token], database: str, where: str
    ) -> None:
        """Rows were written that are not in the log: of tables that the statement names, or any."""
        log, names = self.log, names_in(tokens, database)
        tables = {self._table(name, database) for name in names}
        there = {table for table in log.around.known() if table in tables}
        there |= {table for table in tables if table in log.columns}
        target = written_by(tokens)
        if target is not None and log.wants(table := self._table(target, database)):
            there.add(table)
        if not effects.is_known and not there:
            there = set(log.around.known())
        if log.around.side_effects(names, tokens):
            there = set(log.around.known())
        for table in sorted(there):
            log.rewritten(table, _STATED, where)
        for parent in sorted(tables):
            for cascade in log.around.cascades(parent):
                log.rewritten(cascade.child, f"a statement changed {parent}", where)
