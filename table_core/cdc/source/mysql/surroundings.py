"""What is known beside a log: of its server, and of the tables that its rows go to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from table_core.cdc.source.mysql.sql_tokens import Dialect, Token
from table_core.errors import EventError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from table_core.cdc.model.record import SourceTable
    from table_core.cdc.source.mysql.ddl import Name

__all__ = ["Cascade", "Surroundings"]


def _unreadable(table: SourceTable, _: tuple[int, int], why: str, where: str) -> None:
    raise EventError(
        f"{where}: {table}: {why}, and the log does not tell its rows: take a new snapshot of the "
        "table, or leave it out",
        position=where,
        table=str(table),
    )


@dataclass(frozen=True, slots=True)
class Cascade:
    """A table whose rows change with those of another one, by foreign keys, without a word in the log."""

    child: SourceTable
    columns: frozenset[str]
    """Of the other one: a change of these reaches the child.  Empty for any."""


@dataclass(slots=True, kw_only=True)
class Surroundings:
    """Questions that the log raises; the defaults answer for files, whose server nobody asks."""

    rewritten: Callable[[SourceTable, tuple[int, int], str, str], object] = _unreadable
    """Told of a table, the place in the log, why, and where: from there on its rows are unknown."""
    known: Callable[[], Collection[SourceTable]] = tuple
    """Source tables that gave rows before."""
    has_column: Callable[[SourceTable, str], bool] = lambda *_: False
    """Whether the table that a source table feeds has a column already."""
    cascades: Callable[[SourceTable], Sequence[Cascade]] = lambda _: ()
    is_transactional: Callable[[SourceTable], bool] = lambda _: True
    side_effects: Callable[[Sequence[Name], Sequence[Token]], bool] = lambda *_: False
    """Whether a statement that names these tables may have changed others: by triggers, functions."""
    counts: Callable[[SourceTable, tuple[int, int]], bool] = lambda *_: True
    """Whether what happens to a table at a place in the log is not here yet."""
    gone: Callable[[SourceTable], None] = lambda _: None
    """Told of a table that was dropped."""
    asks_server: bool = False
    """Whether rows can be read again.  Of files the columns of older rows stay what they were."""
    ignores_case: bool = False
    """Whether the server writes the names of tables in small letters."""
    dialect: Dialect = field(default_factory=Dialect)
    unreadable: Callable[[SourceTable, str, str, Mapping[str, Any]], None] | None = None
