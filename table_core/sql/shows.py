"""SHOW and DESCRIBE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.sql.statements import (
    DescribeTable,
    ShowColumns,
    ShowCreateTable,
    ShowDatabases,
    ShowOptions,
    ShowPartitions,
    ShowTables,
    TableName,
)

if TYPE_CHECKING:
    from table_core.sql.statements import Statement
    from table_core.sql.text import Words

__all__ = ["describe", "show", "take_table"]


def take_table(words: Words) -> TableName:
    """Take the name of a table."""
    start = words.word.start if words.word else 0
    return TableName(words.table_name(), start)


def show(words: Words) -> Statement:
    """What follows SHOW."""
    if words.take("DATABASES") or words.take("SCHEMAS"):
        return ShowDatabases(_like(words))
    if words.take("TABLES"):
        database = words.name("the name of a database") if _in(words) else None
        return ShowTables(database, _like(words))
    if words.take("COLUMNS"):
        if not _in(words):
            raise words.wrong("expected IN and a table")
        return ShowColumns(take_table(words))
    if words.take("PARTITIONS"):
        table = take_table(words)
        if words.ahead("PARTITION"):
            raise words.refused(
                "SHOW PARTITIONS of some", f"write SELECT … FROM {'.'.join(table.parts)}$partitions"
            )
        return ShowPartitions(table)
    if words.take("TBLPROPERTIES"):
        table, key = take_table(words), None
        if words.take("("):
            key = words.string("an option in quotes")
            words.expect(")")
        return ShowOptions(table, key)
    if words.take("CREATE", "TABLE"):
        return ShowCreateTable(take_table(words))
    raise words.refused(
        "this SHOW",
        "there are SHOW DATABASES, TABLES, COLUMNS, PARTITIONS, TBLPROPERTIES and CREATE TABLE; "
        "functions, views and catalogs are not listed",
    )


def _in(words: Words) -> bool:
    return words.take("IN") or words.take("FROM")


def _like(words: Words) -> str | None:
    if words.take("LIKE"):
        return words.string("a pattern in quotes")
    word = words.word
    return words.string() if word is not None and word.kind == "string" else None


def describe(words: Words) -> Statement:
    """What follows DESCRIBE."""
    if words.ahead("DATABASE") or words.ahead("SCHEMA") or words.ahead("FUNCTION"):
        raise words.refused("DESCRIBE of what is no table", "write SHOW TABLES IN database")
    if words.ahead("QUERY") or words.ahead("SELECT"):
        raise words.refused("DESCRIBE of a query", "write EXPLAIN SELECT …")
    words.take("TABLE")
    extended = words.take("EXTENDED") or words.take("FORMATTED")
    return DescribeTable(take_table(words), extended)
