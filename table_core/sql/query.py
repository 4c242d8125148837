"""A query: its tree, and the tables that it reads as views of it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from table_core.sql.references import Reference, is_mark, marked
from table_core.sql.text import SparkText, Words

__all__ = ["Query", "View", "parse_query", "start_of"]

_OF_A_TABLE = frozenset({"this", "db", "catalog", "alias", "joins"})


@dataclass(frozen=True, slots=True)
class View:
    """What a query reads as one: a table at one state, however often it is named."""

    name: str
    """Its name in the tree."""
    reference: Reference
    times: int
    """How often it is named."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query, with a view in the place of each table."""

    words: Words
    tree: Any
    views: tuple[View, ...]

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The computed columns of the result that the query gives no name."""
        tree = self.tree
        while not isinstance(tree, exp.Select):
            tree = tree.this
        named = (exp.Alias, exp.Column, exp.Star)
        return tuple(
            item.sql(dialect=SparkText) for item in tree.expressions if not isinstance(item, named)
        )


def parse_query(words: Words, *, table_only: bool = False) -> Query:
    """The query that ``words`` say; with ``table_only`` they are the name of a table.

    Raises:
        SqlError: it does not parse.
        UnsupportedFeatureError: a part of it is not supported.
    """
    text, references = marked(words)
    if table_only:
        text = f"SELECT * FROM {text.strip()}"
    tree = _parsed(words, text).transform(_as_both_say)
    if not isinstance(tree, exp.Query):
        raise words.wrong("expected a query", words.start)
    for with_ in tree.find_all(exp.With):
        if with_.args.get("recursive"):
            raise words.refused("WITH RECURSIVE", "let the Spark engine run it", words.start)
    tables = [table for table in tree.find_all(exp.Table) if not _is_cte(table)]
    placed = {
        id(table): _reference(words, table, references, table_only=table_only) for table in tables
    }
    if references:
        lost = next(iter(references.values()))
        raise words.wrong("a table cannot stand here; name it behind FROM or JOIN", lost.start)
    views = _views(words, list(placed.values()))
    by_key = {view.reference.key: view.name for view in views}
    for table in tables:
        reference = placed[id(table)]
        alias = table.alias or reference.parts[-1]
        name = exp.to_identifier(by_key[reference.key])
        new = exp.Table(this=name, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
        if table.args.get("alias") is not None:
            new.set("alias", table.args["alias"].copy())
        if table.args.get("joins"):
            new.set("joins", table.args["joins"])
        table.replace(new)
    return Query(words, tree, views)


def _parsed(words: Words, text: str) -> Any:
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True  # it warns on stderr about what we refuse
    try:
        return sqlglot.parse_one(text, dialect=SparkText)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        line, column = first.get("line"), first.get("col")
        start = words.start
        if line is not None and column is not None:
            begin = sum(len(part) + 1 for part in text.split("\n")[: line - 1])
            start = max(begin + column - len(str(first.get("highlight") or " ")), 0)
        what = str(first.get("description") or "the query does not parse").rstrip(".")
        if what.startswith("Required keyword"):
            what = "something is missing"
        raise words.wrong(what, min(start, len(words.text))) from error
    except (SqlglotError, RecursionError) as error:
        raise words.wrong("the query does not parse, or is nested too deep", words.start) from error
    finally:
        logger.disabled = before


def _as_both_say(node: Any) -> Any:
    """Spark's spelling of a node that DuckDB reads under another name."""
    if isinstance(node, exp.TryCast) and not node.args.get("safe"):  # a CAST of Spark's
        return exp.Cast(this=node.this, to=node.args["to"])
    in_case = isinstance(node.parent, exp.Case)
    if isinstance(node, exp.If) and not in_case and node.args.get("false") is not None:
        met = exp.If(this=node.this, true=node.args["true"])
        return exp.Case(ifs=[met], default=node.args["false"])
    if isinstance(node, exp.Join) and node.kind in {"SEMI", "ANTI"}:
        node.set("side", None)
    return node


def _reference(
    words: Words, table: Any, references: dict[str, Reference], *, table_only: bool
) -> Reference:
    start = words.start if table_only else start_of(table, words.start)
    if not isinstance(table.this, exp.Identifier):
        raise words.refused(
            f"the table function {table.this.sql()[:60]}",
            "there are paimon_incremental_query and its two siblings, with a table in quotes",
            start,
        )
    more = [name for name, value in table.args.items() if value and name not in _OF_A_TABLE]
    if more:
        raise words.refused(f"{more[0].upper()} of a table", "leave it out", start)
    if is_mark(table.name):
        placed = references.pop(table.name, None)
        if placed is None or table.args.get("db"):
            raise words.wrong("a table cannot stand here", start)
        return placed
    return Reference(tuple(part.name for part in table.parts), start)


def _views(words: Words, references: list[Reference]) -> tuple[View, ...]:
    prefix = "view"
    while prefix in words.text.lower():
        prefix += "_"
    by_key: dict[str, list[Reference]] = {}
    for reference in references:
        by_key.setdefault(reference.key, []).append(reference)
    return tuple(
        View(f"{prefix}{number}", group[0], len(group))
        for number, group in enumerate(by_key.values())
    )


def _is_cte(table: Any) -> bool:
    """Whether the name is one that WITH gives, in the part of the query that sees it."""
    if table.args.get("db") or not isinstance(table.this, exp.Identifier):
        return False
    name, node = table.name.casefold(), table
    while node is not None:
        parent = node.parent
        if isinstance(parent, exp.With):
            before = parent.expressions[: parent.expressions.index(node)]
            if any(cte.alias.casefold() == name for cte in before):
                return True
            parent = parent.parent  # what defines a name does not see itself
        elif parent is not None:
            with_ = parent.args.get("with_")
            others = [] if with_ is None or with_ is node else with_.expressions
            if any(cte.alias.casefold() == name for cte in others):
                return True
        node = parent
    return False


def start_of(node: Any, default: int) -> int:
    """Where the first name in ``node`` stands in the text."""
    starts = [i.meta["start"] for i in node.find_all(exp.Identifier) if "start" in i.meta]
    return min(starts, default=default)
