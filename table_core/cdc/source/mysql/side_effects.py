"""What a server does to tables beside what statements and rows name: foreign keys, triggers, functions."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from table_core.cdc.model.record import SourceTable
from table_core.cdc.source.mysql.ddl import name_at, parts
from table_core.cdc.source.mysql.sql_tokens import Kind, tokens_of
from table_core.cdc.source.mysql.surroundings import Cascade
from table_core.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.cdc.source.mysql.ddl import Name
    from table_core.cdc.source.mysql.source import MySqlConnection, MySqlSource
    from table_core.cdc.source.mysql.sql_tokens import Token

__all__ = ["asks_for_side_effects", "cascades_of", "folds_names", "may_write_elsewhere"]

_RULES: Final = "('CASCADE', 'SET NULL', 'SET DEFAULT')"
_KEYS: Final = (
    "SELECT k.referenced_table_schema, k.referenced_table_name, k.table_schema, k.table_name, "
    "k.referenced_column_name FROM information_schema.referential_constraints r "
    "JOIN information_schema.key_column_usage k ON k.constraint_schema = r.constraint_schema "
    "AND k.constraint_name = r.constraint_name AND k.table_name = r.table_name "
    f"WHERE r.delete_rule IN {_RULES} OR r.update_rule IN {_RULES}"
)
_INNODB: Final = (
    "SELECT table_schema, table_name FROM information_schema.tables WHERE engine = 'InnoDB' "
    "AND table_type = 'BASE TABLE' AND table_schema NOT IN ('mysql', 'sys')"
)
_SEES_TRIGGERS: Final = re.compile(r"\bTRIGGER\b|\bALL PRIVILEGES ON \*\.\*", re.IGNORECASE)
_CALLS: Final = frozenset({"DO", "CALL", "SELECT", "BEGIN", "EXECUTE", "HANDLER"})


def cascades_of(connection: MySqlConnection) -> Mapping[SourceTable, list[Cascade]]:
    """The tables whose rows change with those of another one, by that one; also further down.

    InnoDB does this below the log, which has no word of it.
    """
    columns: dict[tuple[SourceTable, SourceTable], set[str]] = defaultdict(set)
    for parent, child, names in _foreign_keys(connection):
        columns[parent, child] |= names
    children: dict[SourceTable, set[SourceTable]] = defaultdict(set)
    for parent, child in columns:
        children[parent].add(child)
    cascades: dict[SourceTable, list[Cascade]] = defaultdict(list)
    for (parent, child), names in columns.items():
        reached, left = {child}, [child]
        while left:
            more = children.get(left.pop(), set()) - reached
            reached |= more
            left += more
        cascades[parent] += [Cascade(one, frozenset(names)) for one in sorted(reached)]
    return cascades


def _foreign_keys(
    connection: MySqlConnection,
) -> Iterator[tuple[SourceTable, SourceTable, set[str]]]:
    """Parent, child, and the columns of the parent, of foreign keys that change rows.

    Who may but SELECT sees no foreign keys in the catalog, but the statement that makes a table.
    """
    grants = " ".join(str(row[0]).upper() for row in connection.rows("SHOW GRANTS"))
    if "ALL PRIVILEGES ON *.*" in grants:
        for database, parent, child_database, child, column in connection.rows(_KEYS):
            parent_table = SourceTable(str(database), str(parent))
            yield parent_table, SourceTable(str(child_database), str(child)), {str(column)}
        return
    for database, name in connection.rows(_INNODB):
        child_table = SourceTable(str(database), str(name))
        where = ".".join(
            connection.quoted(part) for part in (child_table.database, child_table.name)
        )
        try:
            made = str(connection.rows(f"SHOW CREATE TABLE {where}")[0][1])
        except TableError:
            continue  # dropped meanwhile, or not to be read: then nobody reads it here
        for parts_ in parts(tokens_of(made)[_behind_name(made) :]):
            key = _reference(parts_, child_table)
            if key is not None:
                yield key


def _behind_name(made: str) -> int:
    """How many tokens stand before the columns: ``CREATE TABLE `t` (``."""
    return next((n for n, token in enumerate(tokens_of(made), 1) if token.text == "("), 0)


def _reference(
    definition: Sequence[Token], child: SourceTable
) -> tuple[SourceTable, SourceTable, set[str]] | None:
    """What ``CONSTRAINT … FOREIGN KEY (…) REFERENCES p (id) ON DELETE CASCADE`` says."""
    words = [token.word for token in definition]
    if "FOREIGN" not in words or "REFERENCES" not in words:
        return None
    at = words.index("REFERENCES") + 1
    name, at = name_at(definition, at)
    rules = words[at:]
    if name is None or ("CASCADE" not in rules and "SET" not in rules):
        return None
    columns = set()
    for token in definition[at + 1 :]:
        if token.text == ")":
            break
        if token.kind is Kind.NAME:
            columns.add(token.text)
    return SourceTable(name[0] or child.database, name[1]), child, columns


def folds_names(connection: MySqlConnection) -> bool:
    """Whether the server takes names of tables in any letters, and writes them in small ones."""
    return str(connection.rows("SELECT @@lower_case_table_names")[0][0]) == "1"


def asks_for_side_effects(
    source: MySqlSource, names: Sequence[Name], tokens: Sequence[Token]
) -> bool:
    """The same over a connection of its own."""
    connection = source.connect()
    try:
        return may_write_elsewhere(connection, names, tokens)
    finally:
        connection.close()


def may_write_elsewhere(
    connection: MySqlConnection, names: Sequence[Name], tokens: Sequence[Token]
) -> bool:
    """Whether a statement that names some tables may have changed others too.

    It may where triggers or functions cannot be seen.
    """
    if tokens and tokens[0].word in _CALLS:
        return True
    grants = " ".join(str(row[0]) for row in connection.rows("SHOW GRANTS"))
    if not _SEES_TRIGGERS.search(grants):
        return True
    named = {(database.lower(), table.lower()) for database, table in names}
    triggers = connection.rows(
        "SELECT event_object_schema, event_object_table FROM information_schema.triggers"
    )
    if any((str(d).lower(), str(t).lower()) in named for d, t in triggers):
        return True
    called = {a.text.lower() for a, b in pairwise(tokens) if b.text == "("}
    try:
        functions = connection.rows("SELECT name FROM mysql.proc")
    except TableError:
        return True
    return any(str(row[0]).lower() in called for row in functions)
