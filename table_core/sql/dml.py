"""INSERT, UPDATE, DELETE, TRUNCATE and MERGE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.sql.query import parse_query
from table_core.sql.references import take_state
from table_core.sql.shows import take_table
from table_core.sql.statements import (
    Assignment,
    Delete,
    Insert,
    Merge,
    MergeWhen,
    Truncate,
    Update,
    Values,
)
from table_core.sql.values import take_partition

if TYPE_CHECKING:
    from table_core.sql.query import Query
    from table_core.sql.statements import Statement
    from table_core.sql.text import Words

__all__ = ["delete", "insert", "merge", "truncate", "update"]


def insert(words: Words) -> Statement:
    """What follows INSERT."""
    overwrite = words.take("OVERWRITE")
    if not overwrite:
        words.expect("INTO")
    words.take("TABLE")
    if words.ahead("DIRECTORY") or words.ahead("LOCAL", "DIRECTORY"):
        raise words.refused("INSERT OVERWRITE DIRECTORY", "use table-core sql -o FILE")
    table = take_table(words)
    partition, dynamic = take_partition(words, whole=False) if words.take("PARTITION") else ((), ())
    columns = None
    by_name = words.take("BY", "NAME")
    if not by_name and words.ahead("(") and not _opens_query(words):
        columns = words.names()
    rows: Query | Values
    if words.take("VALUES"):
        rows = _values(words)
    elif words.ahead("TABLE"):
        raise words.refused("INSERT … TABLE", "write SELECT * FROM the table")
    else:
        rows = parse_query(words.rest())
    return Insert(
        table=table,
        rows=rows,
        columns=columns,
        by_name=by_name,
        overwrite=overwrite,
        partition=partition,
        dynamic=dynamic,
    )


def _opens_query(words: Words) -> bool:
    at = words.at
    while words.take("("):
        pass
    query = words.ahead("SELECT") or words.ahead("WITH") or words.ahead("VALUES")
    words.at = at
    return query


def _values(words: Words) -> Values:
    rows: list[tuple[Words, ...]] = []
    while True:
        words.expect("(")
        row = [words.until(",", ")")]
        while words.take(","):
            row.append(words.until(",", ")"))
        words.expect(")")
        if rows and len(rows[0]) != len(row):
            raise words.wrong(f"a row of VALUES has {len(row)} values, the first {len(rows[0])}")
        rows.append(tuple(row))
        if not words.take(","):
            return Values(tuple(rows))


def update(words: Words) -> Statement:
    """What follows UPDATE."""
    table = take_table(words)
    alias = _alias(words, "SET")
    words.expect("SET")
    values = _assignments(words, "WHERE")
    where = words.rest() if words.take("WHERE") else None
    return Update(table, alias, values, where)


def delete(words: Words) -> Statement:
    """What follows DELETE."""
    words.expect("FROM")
    table = take_table(words)
    alias = _alias(words, "WHERE")
    where = words.rest() if words.take("WHERE") else None
    return Delete(table, alias, where)


def truncate(words: Words) -> Statement:
    """What follows TRUNCATE."""
    words.expect("TABLE")
    table = take_table(words)
    valued = take_partition(words, whole=True)[0] if words.take("PARTITION") else ()
    return Truncate(table, dict(valued))


def merge(words: Words) -> Statement:
    """What follows MERGE."""
    if words.ahead("WITH", "SCHEMA"):
        raise words.refused("MERGE WITH SCHEMA EVOLUTION", "first write ALTER TABLE … ADD COLUMN")
    words.expect("INTO")
    table = take_table(words)
    alias = _alias(words, "USING")
    words.expect("USING")
    source, source_alias = _merge_source(words)
    words.expect("ON")
    on = words.until("WHEN")
    when = []
    while (word := words.word) is not None and words.take("WHEN"):
        when.append(_when(words))
        if any(one.kind == when[-1].kind and one.condition is None for one in when[:-1]):
            raise words.wrong("a WHEN without a condition is the last of its kind", word.start)
    if not when:
        raise words.wrong("a merge has at least one WHEN")
    return Merge(
        table=table,
        alias=alias,
        source=source,
        source_alias=source_alias,
        on=on,
        when=tuple(when),
    )


def _merge_source(words: Words) -> tuple[Query, str]:
    if words.take("("):
        query = parse_query(words.until(")"))
        words.expect(")")
        alias = _alias(words, "ON")
        if alias is None:
            raise words.wrong("the query behind USING has no name: write (SELECT …) AS source")
        return query, alias
    start = words.at
    parts = words.table_name()
    take_state(words)
    query = parse_query(type(words)(words.text, words.words[start : words.at]), table_only=True)
    return query, _alias(words, "ON") or parts[-1]


def _alias(words: Words, *ends: str) -> str | None:
    if words.take("AS"):
        return words.name("an alias")
    word = words.word
    if word is None or word.means(*ends) or word.kind not in {"word", "quoted"}:
        return None
    return words.name("an alias")


def _assignments(words: Words, *ends: str) -> tuple[Assignment, ...]:
    values = [_assignment(words, *ends)]
    while words.take(","):
        values.append(_assignment(words, *ends))
    return tuple(values)


def _assignment(words: Words, *ends: str) -> Assignment:
    column = [words.name("the name of a column")]
    while words.take("."):
        column.append(words.name("the name of a column"))
    words.expect("=")
    return Assignment(tuple(column), words.until(",", *ends))


def _when(words: Words) -> MergeWhen:
    if words.take("NOT", "MATCHED", "BY", "SOURCE"):
        kind = "not matched by source"
    elif words.take("NOT", "MATCHED"):
        words.take("BY", "TARGET")
        kind = "not matched"
    else:
        words.expect("MATCHED")
        kind = "matched"
    condition = words.until("THEN") if words.take("AND") else None
    words.expect("THEN")
    if kind == "not matched":
        words.expect("INSERT")
        return MergeWhen(kind, "insert", condition, _inserted(words))
    if words.take("DELETE"):
        return MergeWhen(kind, "delete", condition, None)
    words.expect("UPDATE")
    words.expect("SET")
    if words.take("*"):
        if kind != "matched":
            raise words.wrong("UPDATE SET * needs a row of the source")
        return MergeWhen(kind, "update", condition, None)
    return MergeWhen(kind, "update", condition, _assignments(words, "WHEN"))


def _inserted(words: Words) -> tuple[Assignment, ...] | None:
    if words.take("*"):
        return None
    if not words.ahead("("):
        raise words.refused("INSERT without columns", "write INSERT (a, b) VALUES (…), or INSERT *")
    columns = words.names()
    words.expect("VALUES")
    words.expect("(")
    values = [words.until(",", ")")]
    while words.take(","):
        values.append(words.until(",", ")"))
    words.expect(")")
    if len(values) != len(columns):
        raise words.wrong(f"INSERT names {len(columns)} columns and has {len(values)} values")
    return tuple(Assignment((name,), value) for name, value in zip(columns, values, strict=True))
