"""What a statement in the log of MySQL or MariaDB does to tables.

The words at its front tell the verb, and the words behind them the tables.  A verb that nobody here
knows may have changed every table that the statement names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from table_core.cdc.source.mysql.ddl import Name, altered, name_at, parts
from table_core.cdc.source.mysql.sql_tokens import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.cdc.source.mysql.ddl import Altered
    from table_core.cdc.source.mysql.sql_tokens import Token

__all__ = ["Effects", "effects_of", "names_in", "written_by"]

_WRITES: Final = frozenset(
    {
        *(
            "INSERT",
            "REPLACE",
            "UPDATE",
            "DELETE",
            "LOAD",
            "WITH",
            "VALUES",
            "SELECT",
            "DO",
            "CALL",
        ),
        *("HANDLER", "EXECUTE", "BEGIN"),
    }
)
"""BEGIN is that of a block: the log's own, which begins a transaction, stands alone."""
_KEEPS: Final = frozenset(
    {
        *(
            "GRANT",
            "REVOKE",
            "SET",
            "FLUSH",
            "ANALYZE",
            "OPTIMIZE",
            "CHECK",
            "LOCK",
            "UNLOCK",
            "USE",
        ),
        *("KILL", "RESET", "PURGE", "CHANGE", "START", "STOP", "INSTALL", "UNINSTALL", "SHOW"),
        *(
            "EXPLAIN",
            "DESCRIBE",
            "DESC",
            "HELP",
            "CACHE",
            "BACKUP",
            "RELEASE",
            "COMMIT",
            "CHECKSUM",
        ),
        *("BINLOG", "SHUTDOWN", "SIGNAL", "PREPARE", "DEALLOCATE"),
    }
)
"""Verbs that change no rows."""
_BEFORE_NAMES: Final = frozenset(
    {"LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "QUICK", "IGNORE", "INTO", "FROM"}
)


@dataclass(slots=True)
class Effects:
    """What becomes of tables."""

    verb: str
    truncated: list[Name] = field(default_factory=list)
    dropped: list[Name] = field(default_factory=list)
    dropped_databases: list[str] = field(default_factory=list)
    created: list[Name] = field(default_factory=list)
    """New, and without rows that are not in the log."""
    is_idle_if_there: bool = False
    """Whether a table that is created is left alone if there is one of its name."""
    arrived: list[tuple[Name, str]] = field(default_factory=list)
    """Named so now, with rows that the log told under another name; and why."""
    rewritten: list[tuple[Name, str]] = field(default_factory=list)
    altered: Altered | None = None
    writes: bool = False
    """Whether it changed rows of the tables that it names, and maybe of others."""
    is_known: bool = True

    @property
    def touches(self) -> bool:
        """Whether any table may be another one than before."""
        return self.verb not in _KEEPS


def effects_of(tokens: Sequence[Token]) -> Effects:
    """What a statement does."""
    tokens = _carried_out(tokens)
    while tokens and tokens[0].text == "(":
        tokens = tokens[1:]
    verb = tokens[0].word if tokens else ""
    effects = Effects(verb)
    if verb in _WRITES:
        effects.writes = True
    elif (take := _TAKERS.get(verb)) is not None:
        take(effects, tokens)
    elif verb not in _KEEPS and tokens:
        effects.is_known = False
    return effects


def _carried_out(tokens: Sequence[Token]) -> Sequence[Token]:
    """The statement that ``SET STATEMENT a=1, b=2 FOR …`` is about."""
    while [t.word for t in tokens[:2]] == ["SET", "STATEMENT"]:
        words = [t.word for t in tokens]
        if "FOR" not in words:
            return tokens
        tokens = tokens[words.index("FOR") + 1 :]
    return tokens


def _behind(tokens: Sequence[Token], at: int, *words: str) -> int:
    """Where it goes on behind ``words``, if they stand there."""
    there = [t.word for t in tokens[at : at + len(words)]]
    return at + len(words) if there == list(words) else at


def _truncate(effects: Effects, tokens: Sequence[Token]) -> None:
    name, _ = name_at(tokens, _behind(tokens, 1, "TABLE"))
    if name is not None:
        effects.truncated.append(name)


def _drop(effects: Effects, tokens: Sequence[Token]) -> None:
    kind = tokens[1].word if len(tokens) > 1 else ""
    at = _behind(tokens, 2, "IF", "EXISTS")
    if kind in {"TABLE", "TABLES"}:
        for part in parts(tokens[at:]):
            name, _ = name_at(part, 0)
            if name is not None:
                effects.dropped.append(name)
    elif kind in {"DATABASE", "SCHEMA"} and len(tokens) > at:
        effects.dropped_databases.append(tokens[at].text)


def _create(effects: Effects, tokens: Sequence[Token]) -> None:
    at = _behind(tokens, 1, "OR", "REPLACE")
    if len(tokens) <= at or tokens[at].word != "TABLE":
        return
    behind = _behind(tokens, at + 1, "IF", "NOT", "EXISTS")
    name, _ = name_at(tokens, behind)
    if name is None:
        return
    effects.is_idle_if_there = behind > at + 1
    effects.created.append(name)
    if at > 1:
        effects.dropped.append(name)


def _rename(effects: Effects, tokens: Sequence[Token]) -> None:
    """Names that are free in the end are gone; those in use have the rows of others."""
    if len(tokens) < 2 or tokens[1].word not in {"TABLE", "TABLES"}:
        return
    gone, come = list[Name](), list[Name]()
    for part in parts(tokens[_behind(tokens, 2, "IF", "EXISTS") :]):
        words = [t.word for t in part]
        old, _ = name_at(part, 0)
        new, _ = name_at(part, words.index("TO") + 1) if "TO" in words else (None, 0)
        if old is None or new is None:
            effects.is_known = False
            return
        come = [*(name for name in come if name not in (old, new)), new]
        gone = [*(name for name in gone if name not in (old, new)), old]
    effects.dropped += gone
    effects.arrived += [(name, "another table was renamed to it") for name in come]


def _alter(effects: Effects, tokens: Sequence[Token]) -> None:
    effects.altered = change = altered(tokens)
    if change is None:
        return
    if change.why and change.renamed is None:
        effects.rewritten.append((change.table, change.why))
    effects.rewritten += change.others
    effects.dropped += change.gone
    if change.renamed is not None:
        new = (change.renamed[0] or change.table[0], change.renamed[1])
        effects.dropped.append(change.table)
        effects.arrived.append((new, "another table was renamed to it"))


def _repair(effects: Effects, tokens: Sequence[Token]) -> None:
    words = [t.word for t in tokens]
    if "TABLE" not in words:
        return
    for part in parts(tokens[words.index("TABLE") + 1 :]):
        name, _ = name_at(part, 0)
        if name is not None:
            effects.rewritten.append((name, "REPAIR TABLE may have left rows out"))


_TAKERS: Final = {
    "TRUNCATE": _truncate,
    "DROP": _drop,
    "CREATE": _create,
    "RENAME": _rename,
    "ALTER": _alter,
    "REPAIR": _repair,
}


def written_by(tokens: Sequence[Token]) -> Name | None:
    """The table that stands where INSERT, REPLACE, UPDATE, DELETE and LOAD DATA name theirs."""
    tokens = _carried_out(tokens)
    words = [token.word for token in tokens]
    if words[:1] not in (["INSERT"], ["REPLACE"], ["UPDATE"], ["DELETE"], ["LOAD"]):
        return None
    at = words.index("TABLE") if words[:1] == ["LOAD"] and "TABLE" in words else 0
    at += 1
    while at < len(words) and words[at] in _BEFORE_NAMES:
        at += 1
    name, _ = name_at(tokens, at)
    return name


def names_in(tokens: Sequence[Token], database: str) -> list[Name]:
    """Every table that the words of a statement may name."""
    listed: list[Name] = []
    for at, token in enumerate(tokens):
        if token.kind not in {Kind.WORD, Kind.NAME}:
            continue
        name, _ = name_at(tokens, at)
        if name is not None and name[0]:
            listed.append(name)
        if database:
            listed.append((database, token.text))
    return listed
