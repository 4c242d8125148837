"""Statements from their words: which statement it is, and what each of its words says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.sql import ddl, dml, shows
from table_core.sql.call import parse_call
from table_core.sql.query import parse_query
from table_core.sql.statements import Explain, Select, SetOption, Use
from table_core.sql.text import statements_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.sql.statements import Statement
    from table_core.sql.text import Words

__all__ = ["parse_statement", "parse_statements"]

_ELSEWHERE: Final = {
    "GRANT": "access is granted by the store or the catalog's server",
    "REVOKE": "access is granted by the store or the catalog's server",
    "CACHE": "no rows stay in memory between two statements",
    "UNCACHE": "no rows stay in memory between two statements",
    "REFRESH": "each statement reads the newest metadata",
    "MSCK": "a table's metadata lists its partitions",
    "LOAD": "write INSERT INTO … SELECT, or use table-core write",
    "ANALYZE": "use table.analyze() or table-core analyze",
    "BEGIN": "a statement is a transaction, and there is no larger one",
    "COMMIT": "a statement is a transaction, and there is no larger one",
    "ROLLBACK": "write CALL sys.rollback(table => …, version => …)",
    "ADD": "nothing but SQL runs here",
    "REPLACE": "drop the table, and create it",
    "COPY": "write INSERT INTO … SELECT, or use table-core read -o FILE",
}
"""Statements of Spark and of others that are not done, and what is done instead."""


def parse_statements(text: str) -> list[tuple[Words, Statement]]:
    """The statements of ``text``, which semicolons part, with their words.

    Raises:
        SqlError: one is wrong; the facts say at which line and column.
        UnsupportedFeatureError: one is not supported; it says what to do instead.
    """
    return [(words, parse_statement(words)) for words in statements_of(text)]


def parse_statement(words: Words) -> Statement:
    """What one statement says.

    Raises:
        SqlError, UnsupportedFeatureError: see ``parse_statements``.
    """
    first = words.word
    key = first.value.upper() if first is not None and first.kind in {"word", "sign"} else ""
    if key in {"SELECT", "WITH", "("}:
        return Select(parse_query(words.rest()))
    if key in _ELSEWHERE:
        raise words.refused(key, _ELSEWHERE[key])
    if key not in _FIRST:
        raise words.wrong(f"a statement begins with one of {', '.join(['SELECT', *_FIRST])}")
    words.expect(key)
    statement = _FIRST[key](words)
    words.finish()
    return statement


def _explain(words: Words) -> Statement:
    if words.ahead("EXTENDED") or words.ahead("FORMATTED") or words.ahead("COST"):
        raise words.refused("EXPLAIN with a mode", "write EXPLAIN alone")
    if not (words.ahead("SELECT") or words.ahead("WITH") or words.ahead("(")):
        raise words.refused("EXPLAIN of what is no query", "explain its SELECT")
    return Explain(parse_query(words.rest()))


def _use(words: Words) -> Statement:
    words.take("DATABASE")
    return Use(words.name("the name of a database"))


def _set(words: Words) -> Statement:
    key = [words.name("an option")]
    while words.take(".") or words.take("-"):
        key.append("." if words.words[words.at - 1].value == "." else "-")
        key.append(words.name("an option"))
    words.expect("=")
    word = words.word
    if word is None:
        raise words.wrong("expected a value")
    rest = words.rest()
    value = word.value if len(rest.words) == 1 else rest.source
    return SetOption("".join(key), value)


_FIRST: Final[dict[str, Callable[[Words], Statement]]] = {
    "CREATE": ddl.create,
    "ALTER": ddl.alter,
    "DROP": ddl.drop,
    "COMMENT": ddl.comment,
    "INSERT": dml.insert,
    "UPDATE": dml.update,
    "DELETE": dml.delete,
    "MERGE": dml.merge,
    "TRUNCATE": dml.truncate,
    "SHOW": shows.show,
    "DESCRIBE": shows.describe,
    "DESC": shows.describe,
    "EXPLAIN": _explain,
    "CALL": parse_call,
    "USE": _use,
    "SET": _set,
}
