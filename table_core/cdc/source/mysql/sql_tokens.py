"""The words of a statement in the log of MySQL or MariaDB, as its server took them.

Comments are gone, but for the versioned ones that the server of the log carries out::

    /* a */ TRUNCATE /*!50000 TABLE */ `t`  -- b      TRUNCATE TABLE t

Source: MariaDB's manual, "Comment Syntax", "Identifier Names", "SQL_MODE".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Dialect", "Kind", "Token", "tokens_of"]

_MARIADB_SKIPS: Final = range(50_700, 100_000)
"""Versions of MySQL that MariaDB never has."""
_ANSI_QUOTES: Final = 1 << 2
_NO_BACKSLASH: Final = 1 << 20
_VERSION: Final = re.compile(r"(M?)!(\d{5,6})?")
_NUMBER: Final = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w$])")
_WORD: Final = re.compile(r"[\w$]+")
_ESCAPES: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


class Kind(StrEnum):
    """What a token is."""

    WORD = "word"
    """Without quotes: a word of SQL, or a name."""
    NAME = "name"
    TEXT = "text"
    NUMBER = "number"
    SIGN = "sign"


@dataclass(frozen=True, slots=True)
class Token:
    """A word, name, text, number or sign, without its quotes."""

    kind: Kind
    text: str

    @property
    def word(self) -> str:
        """In capitals; '' for all but words."""
        return self.text.upper() if self.kind is Kind.WORD else ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the server read the statement."""

    sql_mode: int = 0
    version: int = 0
    """E.g. 101119; 0 for unknown."""
    is_mariadb: bool = True

    @classmethod
    def of_server(cls, version: str, sql_mode: int = 0) -> Dialect:
        """Of a server that calls its version so: ``10.11.19-MariaDB-log``."""
        numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
        number = 0
        if numbers is not None:
            major, minor, patch = map(int, numbers.groups())
            number = major * 10_000 + minor * 100 + patch
        return cls(sql_mode, number, "mariadb" in version.lower())

    def carries_out(self, of_mariadb: bool, version: str | None) -> bool:
        """Whether the server carries out what stands in a versioned comment."""
        if of_mariadb and not self.is_mariadb:
            return False
        if version is None:
            return True
        number = int(version)
        if self.is_mariadb and not of_mariadb and number in _MARIADB_SKIPS:
            return False
        return not self.version or number <= self.version


def tokens_of(statement: str, dialect: Dialect = Dialect()) -> list[Token]:
    """The tokens of a statement; what is not closed goes on to its end."""
    return list(_tokens(statement, dialect))


def _tokens(text: str, dialect: Dialect) -> Iterator[Token]:
    at, end = 0, len(text)
    while at < end:
        letter = text[at]
        if letter.isspace() or letter == "\0":
            at += 1
        elif text.startswith("*/", at):  # of a versioned comment that is carried out
            at += 2
        elif (behind := _comment(text, at, dialect)) is not None:
            at = behind
        elif letter in "'`" or letter == '"':
            at, token = _quoted(text, at, dialect)
            yield token
        elif (number := _NUMBER.match(text, at)) is not None:
            at = number.end()
            yield Token(Kind.NUMBER, number[0])
        elif (word := _WORD.match(text, at)) is not None:
            at = word.end()
            yield Token(Kind.WORD, word[0])
        else:
            at += 1
            yield Token(Kind.SIGN, letter)


def _comment(text: str, at: int, dialect: Dialect) -> int | None:
    """Where to go on behind a comment, or within one that is carried out; None where none begins."""
    is_dashes = text.startswith("--", at) and (at + 2 == len(text) or text[at + 2].isspace())
    if text[at] == "#" or is_dashes:
        line = text.find("\n", at)
        return len(text) if line < 0 else line + 1
    if not text.startswith("/*", at):
        return None
    version = _VERSION.match(text, at + 2)
    if version is not None and dialect.carries_out(bool(version[1]), version[2]):
        return version.end()
    close = text.find("*/", at + 2)
    return len(text) if close < 0 else close + 2


def _quoted(text: str, at: int, dialect: Dialect) -> tuple[int, Token]:
    quote = text[at]
    is_name = quote == "`" or (quote == '"' and bool(dialect.sql_mode & _ANSI_QUOTES))
    escapes = not is_name and not dialect.sql_mode & _NO_BACKSLASH
    letters: list[str] = []
    at += 1
    while at < len(text):
        letter = text[at]
        if escapes and letter == "\\" and at + 1 < len(text):
            letters.append(_ESCAPES.get(text[at + 1], text[at + 1]))
            at += 2
        elif letter == quote:
            if not text.startswith(quote, at + 1):
                break
            letters.append(quote)
            at += 2
        else:
            letters.append(letter)
            at += 1
    return at + 1, Token(Kind.NAME if is_name else Kind.TEXT, "".join(letters))
