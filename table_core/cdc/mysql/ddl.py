"""Statements of MySQL that give rows which are there a value: columns added with a default.

The log tells no rows for them, and files of it come without the server's catalog.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from sqlglot import Token, TokenType
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import SqlglotError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["added_defaults"]

_NO_COLUMN: Final = frozenset(
    {
        *("INDEX", "KEY", "UNIQUE", "PRIMARY", "CONSTRAINT", "FOREIGN", "FULLTEXT", "SPATIAL"),
        *("PARTITION", "CHECK", "PERIOD", "SYSTEM"),
    }
)
_ZERO: Final = frozenset(
    {
        *("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"),
        *("DECIMAL", "NUMERIC", "DEC", "FIXED", "REAL", "BOOL", "BOOLEAN"),
    }
)
_EMPTY: Final = frozenset({"CHAR", "VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT"})
_WORDS: Final = {"TRUE": "1", "FALSE": "0"}


def added_defaults(statement: str) -> tuple[str, str, dict[str, str]] | None:
    """Database ("" if not named), table, and the constants that an ALTER TABLE fills columns with.

    A column that must not be null and has no default is filled with zero, or with no text.
    """
    try:
        tokens = MySQL().tokenize(statement)
    except SqlglotError:
        return None
    words = [token.text.upper() for token in tokens]
    if words[:1] != ["ALTER"] or "TABLE" not in words[1:4]:
        return None
    at = words.index("TABLE") + 1
    at += 2 if words[at : at + 2] == ["IF", "EXISTS"] else 0
    dotted = words[at + 1 : at + 2] == ["."]
    names = [token.text for token in tokens[at : at + 3 if dotted else at + 1 : 2]]
    constants: dict[str, str] = {}
    for action in _parts(tokens[at + (3 if dotted else 1) :]):
        for column in _added(action):
            if (value := _default(column)) is not None:
                constants[column[0].text] = value
    return (names[0] if dotted else "", names[-1], constants) if constants else None


def _parts(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """What stands between commas outside of parentheses."""
    depth, part = 0, list[Token]()
    for token in tokens:
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if depth == 0 and token.token_type is TokenType.COMMA:
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _added(action: list[Token]) -> Iterator[list[Token]]:
    """The definitions of columns that an action of ALTER TABLE adds."""
    if not action or action[0].text.upper() != "ADD":
        return
    rest = action[1:]
    rest = rest[1:] if rest and rest[0].text.upper() == "COLUMN" else rest
    rest = (
        rest[3:] if [token.text.upper() for token in rest[:3]] == ["IF", "NOT", "EXISTS"] else rest
    )
    inside = bool(rest) and rest[0].token_type is TokenType.L_PAREN
    for column in _parts(rest[1:-1]) if inside else [rest]:
        named = len(column) > 1 and (
            column[0].token_type is TokenType.IDENTIFIER or column[0].text.upper() not in _NO_COLUMN
        )
        if named:
            yield column


def _default(column: Sequence[Token]) -> str | None:
    """What rows that are there get; None for NULL, and for what only the server can compute."""
    kind = column[1].text.upper()
    words = [t.text.upper() if t.token_type is not TokenType.STRING else "" for t in column]
    if "AS" in words or "GENERATED" in words:
        return None
    if "DEFAULT" in words:
        return _constant(column[words.index("DEFAULT") + 1 :])
    if ("NOT", "NULL") in pairwise(words):
        return "0" if kind in _ZERO else "" if kind in _EMPTY else None
    return None


def _constant(tokens: Sequence[Token]) -> str | None:
    sign = "-" if tokens and tokens[0].token_type is TokenType.DASH else ""
    tokens = tokens[1:] if sign else tokens
    if not tokens or any(t.token_type is TokenType.L_PAREN for t in tokens[1:2]):
        return None
    token = tokens[0]
    if token.token_type in {TokenType.STRING, TokenType.NUMBER}:
        return sign + token.text
    return _WORDS.get(token.text.upper())
