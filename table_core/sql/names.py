"""Names of columns in statements: any case is meant, as in Spark, and the exact name is used."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from table_core.errors import PredicateError
from table_core.options.nearest import hint
from table_core.predicate.parameters import bind
from table_core.predicate.sql import parse_value, parse_where
from table_core.sql.text import SparkText

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.sql.text import Words

__all__ = ["Sides"]


@dataclass(frozen=True, slots=True)
class Sides:
    """The tables that an expression may name: each by its names in SQL, with what the verbs call it."""

    sides: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...]
    """Its names, the prefix that the verb wants (maybe none), its columns."""

    def condition(self, words: Words, parameters: Mapping[str, object]) -> str:
        """The condition that ``words`` say, as the verbs take it.

        Raises:
            SqlError: it names what is not there, or is no condition.
            UnsupportedFeatureError: it has a query in it.
        """
        return self._checked(words, parameters, parse_where)

    def value(self, words: Words, parameters: Mapping[str, object]) -> str:
        """The value that ``words`` say, as the verbs take it.

        Raises:
            SqlError, UnsupportedFeatureError: see ``condition``.
        """
        return self._checked(words, parameters, parse_value)

    def _checked(self, words: Words, parameters: Mapping[str, object], parse: Any) -> str:
        text = bind(self._exact(words), _named(words, parameters))
        try:
            parse(text)
        except PredicateError as error:
            raise words.refused(
                f"an expression of this statement: {error}",
                "compute it in a query, or let the Spark engine run the statement",
                words.start,
            ) from error
        return text

    def _exact(self, words: Words) -> str:
        """The text with the exact name of each column in its place, and ``$name`` for ``:name``."""
        words.require_lists()
        changes: list[tuple[int, int, str]] = []
        for column in self._columns(words):
            parts = column.parts
            metas = [part.meta for part in parts]
            if any("start" not in meta for meta in metas):
                raise words.wrong("a name is not understood", words.start)
            start, end = metas[0]["start"], metas[-1]["end"] + 1
            names = [part.name for part in parts]
            changes.append((start, end, self._resolved(words, names, start)))
        for at, word in enumerate(words.words[:-1]):
            after = words.words[at + 1]
            if word.means(":") and after.kind == "word" and after.start == word.end:
                changes.append((word.start, word.end, "$"))
            if word.kind == "hint" or word.means("$"):
                raise words.wrong(
                    "this cannot stand here; a parameter is written :name", word.start
                )
        text, last = [], words.start
        for start, end, new in sorted(changes):
            text += [words.text[last:start], new]
            last = end
        return "".join([*text, words.text[last : words.words[-1].end]])

    def _columns(self, words: Words) -> list[Any]:
        blank = "".join("\n" if sign == "\n" else " " for sign in words.text[: words.start])
        logger = logging.getLogger("sqlglot")
        before, logger.disabled = logger.disabled, True
        try:
            tree = sqlglot.parse_one(blank + words.source, dialect=SparkText)
        except (SqlglotError, RecursionError) as error:
            raise words.wrong("this expression does not parse", words.start) from error
        finally:
            logger.disabled = before
        query = tree.find(exp.Query)
        if query is not None:
            raise words.refused(
                "a query inside this statement's expressions",
                "write MERGE INTO … USING (SELECT …), or let the Spark engine run it",
                words.start,
            )
        return [c for c in tree.find_all(exp.Column) if not isinstance(c.this, exp.Star)]

    def _resolved(self, words: Words, names: list[str], start: int) -> str:
        """The text of a column: the verb's prefix, the exact name, members of a ROW."""
        first = names[0].casefold()
        if len(names) > 1:
            for aliases, prefix, columns in self.sides:
                if first in (alias.casefold() for alias in aliases):
                    return _quoted(prefix, self._member(words, columns, names[1:], start))
        having = [
            (prefix, columns)
            for _, prefix, columns in self.sides
            if first in (name.casefold() for name in columns)
        ]
        if len(having) > 1:
            raise words.wrong(f"both tables have {names[0]!r}: write alias.{names[0]}", start)
        if not having:
            every = [name for _, _, columns in self.sides for name in columns]
            raise words.wrong(f"no column {names[0]!r}: {hint(names[0], every)}", start)
        prefix, columns = having[0]
        return _quoted(prefix, self._member(words, columns, names, start))

    @staticmethod
    def _member(words: Words, columns: tuple[str, ...], names: list[str], start: int) -> list[str]:
        if names[0] in columns:
            return names
        for name in columns:
            if name.casefold() == names[0].casefold():
                return [name, *names[1:]]
        raise words.wrong(f"no column {names[0]!r}: {hint(names[0], columns)}", start)


def _quoted(prefix: str, names: list[str]) -> str:
    quoted = [f"`{name.replace('`', '``')}`" for name in names]
    return ".".join([prefix, *quoted] if prefix else quoted)


def _named(words: Words, parameters: Mapping[str, object]) -> Mapping[str, object]:
    for at, word in enumerate(words.words[:-1]):
        name = words.words[at + 1]
        if word.means(":") and name.kind == "word" and name.value not in parameters:
            have = ", ".join(sorted(parameters)) or "none"
            raise words.wrong(
                f"the SQL names :{name.value}, which is not in the parameters; there are {have}",
                word.start,
            )
    return parameters
